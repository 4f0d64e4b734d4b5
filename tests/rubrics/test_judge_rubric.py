from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import textwrap

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_states import rollout
from servers import FaultServer, Reply

from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.errors import ErrorChain, ScoringError
from tui_eval.messages import SystemMessage, TextMessage, UserMessage
from tui_eval.parsers.xml_parser import XMLParser
from tui_eval.rubrics.judge_rubric import (
    DEFAULT_JUDGE_PROMPT,
    JudgeRubric,
    fill_prompt,
    question_of,
)
from tui_eval.runs.row import build_row, encode_row
from tui_eval.types import ClientConfig

PATH = "/v1/chat/completions"


def verdict(text: str | None = "yes") -> dict:
    return {
        "id": "v",
        "object": "chat.completion",
        "created": 1,
        "model": "judge",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32},
    }


@pytest.fixture
def server():
    with FaultServer() as running:
        running.script(PATH, [Reply(body=verdict())])
        yield running


def client_of(server: FaultServer, kind: str = "async"):
    url = f"{server.url}/v1"
    if kind == "ours":
        return OpenAIChatCompletionsClient(ClientConfig(api_base_url=url, max_retries=0))
    sdk = openai.AsyncOpenAI if kind == "async" else openai.OpenAI
    return sdk(api_key="k", base_url=url, max_retries=0)


async def says_yes(judge, prompt, completion, answer, state):
    text = await judge(prompt, completion, answer, state)
    return 1.0 if "yes" in text else 0.0


def rubric_of(server: FaultServer, kind: str = "async", **kwargs) -> JudgeRubric:
    rubric = JudgeRubric(judge_client=client_of(server, kind), **kwargs)
    rubric.add_reward_func(says_yes)
    return rubric


def sent(server: FaultServer, place: int = 0) -> str:
    (message,) = server.requests[place].json()["messages"]
    assert message["role"] == "user"
    return message["content"]


@pytest.mark.parametrize("kind", ["async", "sync", "ours"])
async def test_the_judge_gets_question_answer_and_response(server, kind):
    state = rollout("42", said="It is 42.", question="What is 6 * 7?")
    await rubric_of(server, kind, judge_model="wise").score_rollout(state)
    assert state["error"] is None
    assert state["metrics"] == {"says_yes": 1.0}
    expected = DEFAULT_JUDGE_PROMPT.format(
        question="What is 6 * 7?", answer="42", response="It is 42."
    )
    assert sent(server) == expected
    assert server.requests[0].json()["model"] == "wise"
    assert state["judge_response"] == {expected: "yes"}
    usage = state["judge_usage"]
    assert (usage["calls"], usage["input_tokens"], usage["output_tokens"]) == (1, 30, 2)
    assert usage["ms"] > 0


async def test_a_judge_that_counts_nonsense_still_judges(server):
    counted = {"prompt_tokens": "many", "completion_tokens": -3, "total_tokens": 1e300}
    server.script(PATH, [Reply(body=verdict() | {"usage": counted})])
    state = rollout("42", said="It is 42.")
    await rubric_of(server, "ours", judge_model="wise").score_rollout(state)
    assert (state["error"], state["reward"]) == (None, 1.0)
    usage = state["judge_usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (0, 0)


async def test_a_blocking_judge_does_not_hold_the_loop(server):
    server.script(PATH, [Reply(body=verdict(), delay=0.3)])
    states = [rollout(said=str(place)) for place in range(4)]
    rubric = rubric_of(server, "sync")
    await asyncio.gather(*(rubric.score_rollout(state) for state in states))
    assert [state["reward"] for state in states] == [1.0] * 4
    assert server.most_at_once > 1


async def test_the_parser_takes_the_response_out(server):
    state = rollout(said="<answer>42</answer> I think")
    rubric = rubric_of(server, parser=XMLParser(["answer"]), judge_prompt="[{response}]")
    await rubric.score_rollout(state)
    assert sent(server) == "[42]"


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_sampling_arguments_go_along_and_those_unknown_to_the_sdk_too(server, kind):
    given = {"temperature": 0.0, "max_tokens": 5, "top_p": None, "enable_thinking": False}
    await rubric_of(server, kind, judge_sampling_args=given).score_rollout(rollout())
    body = server.requests[0].json()
    assert {key: body[key] for key in body.keys() - {"messages", "model"}} == {
        "temperature": 0.0,
        "max_tokens": 5,
        "enable_thinking": False,
        "stream": False,
    }


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_limit_that_the_judge_refuses_gets_its_other_name_and_keeps_it(server, kind):
    refused = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    refusal = Reply(400, {"error": {"message": refused, "param": "max_tokens"}})
    server.script(PATH, [refusal, Reply(body=verdict("yes"))])
    rubric = rubric_of(server, kind, judge_sampling_args={"max_tokens": 50})
    for _ in range(2):
        await rubric.score_rollout(state := rollout())
        assert state["reward"] == 1.0
    limits = [{k: v for k, v in one.json().items() if "max" in k} for one in server.requests]
    assert limits == [{"max_tokens": 50}, *[{"max_completion_tokens": 50}] * 2]


async def test_a_verdict_is_requested_once_a_rollout(server):
    rubric = rubric_of(server)
    rubric.add_metric(says_yes)
    await rubric.score_rollout(rollout())
    assert len(server.requests) == 1
    await rubric.score_rollout(rollout())
    assert len(server.requests) == 2


async def different_verdicts(judge, prompt, completion, answer, state):
    calls = (judge(prompt, completion, answer, state) for _ in range(3))
    return float(len(set(await asyncio.gather(*calls))))


async def test_questions_put_at_the_same_time_share_one_request(server):
    server.script(PATH, [Reply(body=verdict("yes"), delay=0.05), Reply(body=verdict("no"))])
    rubric = JudgeRubric(judge_client=client_of(server), funcs=[different_verdicts])
    state = rollout()
    await rubric.score_rollout(state)
    assert (state["reward"], len(server.requests)) == (1.0, 1)


async def test_different_judges_have_verdicts_of_their_own(server):
    server.script(PATH, [Reply(body=verdict(text)) for text in ("yes", "no", "maybe")])
    first, second = rubric_of(server), rubric_of(server)
    state = rollout()
    args = (state["prompt"], state["completion"], "42", state)
    assert await first.judge(*args) == "yes"
    assert await second.judge(*args) == "no"
    second.judge_model = "another"
    assert await second.judge(*args) == "maybe"
    assert await first.judge(*args) == "yes"
    assert len(server.requests) == 3


async def test_without_a_state_the_judge_is_called_each_time(server):
    rubric = rubric_of(server)
    for _ in range(2):
        assert await rubric.judge("q", "r", "a") == "yes"
    assert len(server.requests) == 2


async def test_verdicts_are_forgotten_with_their_rollout(server):
    rubric = rubric_of(server)
    for _ in range(3):
        await rubric.score_rollout(rollout())
    assert len(server.requests) == 3
    gc.collect()
    assert rubric._verdicts == {}


async def test_verdicts_can_be_saved(server):
    state = rollout()
    await rubric_of(server).score_rollout(state)
    row = build_row(state, number=0, attempt=1, columns=["judge_response", "judge_usage"])
    saved = json.loads(encode_row(row))
    assert list(saved["judge_response"].values()) == ["yes"]
    assert saved["judge_usage"]["calls"] == 1


LIMITED = {"error": {"message": "slow down", "type": "rate_limit"}}


@pytest.mark.parametrize("kind", ["async", "sync", "ours"])
@pytest.mark.parametrize(
    ("reply", "cause", "text"),
    [
        (Reply(429, LIMITED), openai.RateLimitError, "slow down"),
        (Reply(500, LIMITED), openai.InternalServerError, "slow down"),
        (Reply(reset=True), openai.APIConnectionError, "onnection"),
        (Reply(body=verdict("")), None, "judge-1"),
        (Reply(body=verdict(None)), None, "judge-1"),
        (Reply(body=verdict(" \n")), None, "empty verdict"),
        (Reply(body={"choices": []}), None, "judge-1"),
    ],
)
async def test_a_failing_judge_is_a_scoring_error_with_its_cause(server, kind, reply, cause, text):
    server.script(PATH, [reply])
    state = rollout()
    await rubric_of(server, kind, judge_model="judge-1").score_rollout(state)
    assert isinstance(state["error"], ScoringError)
    assert "'says_yes' failed: " in str(state["error"])
    assert "Judge 'judge-1'" in str(state["error"])
    assert text in str(state["error"])
    assert (state["metrics"], state.scores[0]["raw"]) == ({}, None)
    assert cause is None or cause in ErrorChain(state["error"])
    assert "judge_response" not in state


async def test_a_judge_that_does_not_answer_runs_out_of_time(server):
    server.script(PATH, [Reply(hang=True)])
    state = rollout()
    await rubric_of(server, timeout_seconds=0.2).score_rollout(state)
    assert "longer than its time limit of 0.2 s" in str(state["error"])


async def test_a_failure_is_not_kept(server):
    server.script(PATH, [Reply(429, LIMITED), Reply(body=verdict())])
    rubric = rubric_of(server)
    state = rollout()
    await rubric.score_rollout(state)
    assert state["error"] is not None
    state["error"] = None
    await rubric.score_rollout(state)
    assert state["reward"] == 1.0


async def test_functions_get_everything_about_the_judge(server):
    seen = {}

    async def looks(judge_client, judge_model, judge_prompt, judge_sampling_args, **others):
        seen.update(locals())
        return 1.0

    client, parser = client_of(server), XMLParser(["answer"])
    rubric = JudgeRubric(parser, False, client, "wise", {"temperature": 0}, "{response}")
    rubric.add_reward_func(looks)
    await rubric.score_rollout(rollout())
    others = seen.pop("others")
    assert others["judge"] == rubric.judge
    assert others["parser"] is parser
    assert (seen.pop("judge_client"), seen.pop("judge_model")) == (client, "wise")
    assert (seen["judge_prompt"], seen["judge_sampling_args"]) == (
        "{response}",
        {"temperature": 0},
    )


async def test_functions_and_weights_can_be_given_at_once(server):
    rubric = JudgeRubric(judge_client=client_of(server), funcs=[says_yes], weights=[2.0])
    state = rollout()
    await rubric.score_rollout(state)
    assert state["reward"] == 2.0


async def test_without_client_and_key_the_refusal_says_what_to_do(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rubric = JudgeRubric()
    rubric.add_reward_func(says_yes)
    state = rollout()
    await rubric.score_rollout(state)
    assert "give JudgeRubric a judge_client, or set OPENAI_API_KEY" in str(state["error"])


async def test_without_a_client_one_is_made_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")

    async def uses_client(judge_client):
        return float(isinstance(judge_client, openai.AsyncOpenAI))

    rubric = JudgeRubric()
    rubric.add_reward_func(says_yes)
    rubric.add_reward_func(uses_client)
    state = rollout()
    await rubric.score_rollout(state)
    assert state["reward"] == 2.0
    assert server.requests[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.process
def test_making_a_rubric_loads_no_sdk():
    source = textwrap.dedent(
        """
        import sys
        from tui_eval.rubrics.judge_rubric import JudgeRubric
        JudgeRubric()
        print([name for name in ("openai", "anthropic", "math_verify") if name in sys.modules])
        """
    )
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert ended.stdout == "[]\n"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("plain", "plain"),
        ([TextMessage(content="as text")], "as text"),
        ([SystemMessage(content="s"), UserMessage(content="q")], "q"),
        ([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}], "two"),
        (
            [UserMessage(content="q"), {"role": "assistant", "content": "a"}],
            "q",
        ),
        (
            [UserMessage(content=[{"type": "text", "text": "What is"}, IMAGE])],
            "What is [image]",
        ),
        (
            [{"role": "user", "content": [IMAGE, {"type": "text", "text": "this?"}]}],
            "[image] this?",
        ),
        ([SystemMessage(content="only the system")], "only the system"),
        ([], ""),
        (None, ""),
    ],
)
def test_the_question_is_what_the_user_said_last(prompt, question):
    assert question_of(prompt) == question


@given(st.text("{}question answer:", max_size=30), st.text("{}response!", max_size=20))
def test_what_is_filled_in_is_never_read_as_a_template(question, response):
    filled = fill_prompt(
        "<{question}|{answer}|{response}>", question=question, answer="{x}", response=response
    )
    assert filled == f"<{question}|{{x}}|{response}>"


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ('Reply {{"score": 1}} for {response}', 'Reply {"score": 1} for R'),
        ('Reply {"score": 1} for {response}', 'Reply {"score": 1} for R'),
        ("{ {question} } {answer} {other} {}", "{ Q } A {other} {}"),
        ("{question!r} {answer:>3}", "'Q'   A"),
        ("{response.text} {response}", "{response.text} R"),
        ("nothing", "nothing"),
    ],
)
def test_braces_of_a_prompt_stay(template, filled):
    assert fill_prompt(template, question="Q", answer="A", response="R") == filled


@given(st.text(max_size=60))
def test_any_text_is_a_prompt(template):
    assert isinstance(fill_prompt(template, question="Q", answer="A", response="R"), str)

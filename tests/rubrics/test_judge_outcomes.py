"""Answers without a verdict are never graded: failures in a 200, halves, filtered, empty ones."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from made_states import rollout
from pretended_time import PretendedTime
from servers import FaultServer, Reply

from tui_eval.clients import make_client, pacing
from tui_eval.error_classes import class_of
from tui_eval.errors import ErrorChain, JudgeError
from tui_eval.rubrics.judge_call import Judge
from tui_eval.rubrics.judge_rubric import JudgeRubric
from tui_eval.types import ClientConfig

PATH = "/v1/chat/completions"
KINDS = ["async", "sync", "ours", "ours, streamed"]

each_kind = pytest.mark.parametrize("kind", KINDS)


def said(text: str | None, reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    message |= {"refusal": more.pop("refusal")} if "refusal" in more else {}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32}
    return {"id": "v", "object": "chat.completion", "created": 1, "model": "judge",
            "choices": [choice], "usage": usage, **more}  # fmt: skip


def reply(kind: str, body: dict[str, Any]) -> Reply:
    if kind != "ours, streamed" or "choices" not in body:
        return Reply(body=body)
    choice = {**body["choices"][0]}
    chunks = [
        {**body, "choices": [{"index": 0, "delta": choice.pop("message"), "finish_reason": None}]},
        {**body, "choices": [{**choice, "delta": {}}]},
    ]
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    content = f"{data}data: [DONE]\n\n".encode()
    return Reply(body=content, headers={"Content-Type": "text/event-stream"})


def client_of(server: FaultServer, kind: str, retries: int = 0) -> Any:
    url = f"{server.url}/v1"
    if kind.startswith("ours"):
        config = ClientConfig(
            api_base_url=url, max_retries=retries, stream="streamed" in kind, api_key_var=""
        )
        return make_client(config, "k")
    sdk = openai.AsyncOpenAI if kind == "async" else openai.OpenAI
    return sdk(api_key="k", base_url=url, max_retries=retries)


async def says_yes(judge: Any, prompt: Any, completion: Any, answer: Any, state: Any) -> float:
    return float("yes" in await judge(prompt, completion, answer, state))


async def judged(
    server: FaultServer, kind: str, *bodies: dict[str, Any], retries: int = 0, **settings: Any
) -> Any:
    server.script(PATH, [reply(kind, body) for body in bodies])
    client = client_of(server, kind, retries)
    rubric = JudgeRubric(judge_client=client, judge_sampling_args=settings)
    rubric.add_reward_func(says_yes)
    state = rollout()
    await rubric.score_rollout(state)
    if kind != "sync":
        await client.close()
    return state


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, in seconds; none of them is waited."""
    seconds: list[float] = []

    async def no_sleep(wait: float) -> None:
        seconds.append(wait)

    monkeypatch.setattr(pacing, "sleep", no_sleep)
    return seconds


LIMIT = {"message": "slow down", "code": 503}
NO_VERDICTS = {
    "a failure in place of it": ({"error": LIMIT}, "slow down"),
    "a failure beside nothing": ({**said(None), "error": LIMIT}, "slow down"),
    "a failure beside it": ({**said("yes"), "error": LIMIT}, "slow down"),
    "a reason that says so": (said("yes", "error"), "'error'"),
    "half of it": (said("I think that yes", "length"), "cut off at its length limit"),
    "a filter": (said("yes", "content_filter"), "a filter stopped"),
    "Google's filter": (said(None, "SAFETY"), "a filter stopped"),
    "a refusal": (said(None, refusal="I cannot say yes."), "refused"),
    "a limit spent on thoughts": (said("", "length"), "is empty; raise max_tokens"),
    "nothing": (said(" \n"), "empty verdict"),
}


@each_kind
@pytest.mark.parametrize("name", list(NO_VERDICTS))
async def test_what_is_no_verdict_is_an_error_of_the_judge(
    fault_server: FaultServer, kind: str, name: str
) -> None:
    body, text = NO_VERDICTS[name]
    state = await judged(fault_server, kind, body)
    assert state["metrics"] == {}
    assert JudgeError in ErrorChain(state["error"])
    assert class_of(state["error"]) == "judge"
    assert text in str(state["error"])
    assert "judge_response" not in state


@each_kind
async def test_a_failure_in_a_200_is_tried_again_like_its_status(
    fault_server: FaultServer, naps: list[float], kind: str
) -> None:
    failed = {"error": {"message": "overloaded", "code": 502}}
    state = await judged(fault_server, kind, failed, said("yes"), retries=1)
    assert (state["error"], state["reward"]) == (None, 1.0)
    assert len(fault_server.requests) == 2


@each_kind
async def test_a_failure_by_status_is_tried_as_often_as_the_client_says(
    fault_server: FaultServer, naps: list[float], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.SyncAPIClient._sleep_for_retry", lambda *_, **__: None)
    monkeypatch.setattr("openai._base_client.AsyncAPIClient._sleep_for_retry", _no_sleep)
    fault_server.script(PATH, [Reply(500, {"error": {"message": "it broke"}})])
    rubric = JudgeRubric(judge_client=client_of(fault_server, kind, retries=2))
    with pytest.raises(JudgeError, match="it broke"):
        await rubric.judge("q", "r", "a")
    assert len(fault_server.requests) == 3


async def _no_sleep(*_: Any, **__: Any) -> None:
    pass


@each_kind
@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
async def test_a_verdict_at_a_very_small_limit_is_whole(
    fault_server: FaultServer, kind: str, limit: str
) -> None:
    settings = {limit: 1}
    state = await judged(fault_server, kind, said("yes", "length"), **settings)
    assert (state["error"], state["reward"]) == (None, 1.0)


async def test_a_stream_that_broke_off_is_no_verdict(fault_server: FaultServer) -> None:
    state = await judged(fault_server, "ours, streamed", said("yes", None))
    assert "the stream ended before the answer did" in str(state["error"])
    assert class_of(state["error"]) == "judge"


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_who_calls_the_sdk_by_himself_gets_what_it_gives(
    fault_server: FaultServer, kind: str
) -> None:
    async def judge_verdict(judge_client: Any) -> float:
        arguments: Any = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        answer = judge_client.chat.completions.create(**arguments)
        answer = answer if kind == "sync" else await answer
        return float(answer.choices[0].finish_reason == "length")

    fault_server.script(PATH, [Reply(body=said("y", "length"))])
    rubric = JudgeRubric(judge_client=client_of(fault_server, kind), funcs=[judge_verdict])
    state = rollout()
    await rubric.score_rollout(state)
    assert state["reward"] == 1.0


@each_kind
async def test_a_rate_limit_at_the_judge_costs_no_verdict(
    fault_server: FaultServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps = PretendedTime(monkeypatch).naps
    refused = Reply(429, {"error": LIMIT}, {"Retry-After": "9"})
    fault_server.script(PATH, [*[refused] * 4, reply(kind, said("yes"))])
    rubric = JudgeRubric(judge_client=client_of(fault_server, kind, retries=1))
    rubric.add_reward_func(says_yes)
    state = rollout()
    await rubric.score_rollout(state)
    assert (state["reward"], len(fault_server.requests)) == (1.0, 5)
    assert sum(naps) >= 36


@each_kind
async def test_a_request_of_a_judge_says_whether_it_wants_a_stream(
    fault_server: FaultServer, kind: str
) -> None:
    await judged(fault_server, kind, said("yes"))
    assert fault_server.requests[0].json()["stream"] is (kind == "ours, streamed")


@each_kind
async def test_a_judge_that_failed_is_named_with_its_url(
    fault_server: FaultServer, kind: str
) -> None:
    with pytest.raises(JudgeError) as caught:
        await Judge(client_of(fault_server, kind), "j", {}, 5).verdict("yes or no?")
    assert str(caught.value).startswith(f"Judge 'j' at {fault_server.url}/v1")

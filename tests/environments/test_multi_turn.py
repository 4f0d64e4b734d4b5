from __future__ import annotations

import asyncio
from typing import Any

import pytest
from stub_client import Recorder, StubClient, answer

import tui_eval as vf
from tui_eval.events import Stage

ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t", "answer": "a"}
DATASET = [{"question": "q", "answer": "a"}]


class Logged(vf.MultiTurnEnv):
    """Writes down the order of its hooks."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_turns", 2)
        super().__init__(dataset=DATASET, **kwargs)
        self.log: list[str] = []

    async def setup_state(self, state):
        self.log.append("setup")
        return state

    async def env_response(self, messages, state, **kwargs):
        self.log.append("env_response")
        return [{"role": "user", "content": "go on"}]

    async def get_prompt_messages(self, state):
        self.log.append("get_prompt")
        return await super().get_prompt_messages(state)

    async def get_model_response(self, state, prompt, **kwargs):
        self.log.append("model")
        return await super().get_model_response(state, prompt, **kwargs)

    async def add_model_response(self, state, prompt_messages, response):
        self.log.append("add_model_response")
        await super().add_model_response(state, prompt_messages, response)

    async def add_trajectory_step(self, state, trajectory_step):
        self.log.append("add_step")
        await super().add_trajectory_step(state, trajectory_step)

    async def render_completion(self, state):
        self.log.append("render")
        await super().render_completion(state)

    @vf.stop(priority=200)
    async def first(self, state):
        self.log.append("stops")
        return False

    @vf.cleanup
    async def b_last(self, state):
        self.log.append(f"b_last {state['completion']}")

    @vf.cleanup(priority=5)
    def early(self, state):
        self.log.append("early")


async def run(env: vf.Environment, *answers: Any, row: Any = None) -> vf.State:
    return await env.rollout(dict(row or ROW), StubClient(*answers), "m", {})


async def test_hooks_run_in_their_order():
    env = Logged()
    state = await run(env, answer("one"), answer("two"))
    turn = ["model", "add_model_response", "add_step", "stops"]
    assert env.log == [
        "setup", "stops", "get_prompt", *turn, "get_prompt", "env_response", *turn,
        "early", "b_last None", "render",
    ]  # fmt: skip
    assert state["is_completed"] is True
    assert state["stop_condition"] == "max_turns_reached"
    assert [m["content"] for m in state["completion"]] == ["one", "go on", "two"]
    assert [type(m) for m in state["completion"]] == [
        vf.AssistantMessage, vf.UserMessage, vf.AssistantMessage
    ]  # fmt: skip
    assert [m.content for m in state["trajectory"][1]["prompt"]] == ["q", "one", "go on"]


async def test_the_observer_gets_every_message_once_and_in_order(recorder: Recorder):
    state = await run(Logged(), answer("one"), answer("two"))
    assert state.observer is recorder
    assert [m.content for m in recorder.messages] == ["q", "one", "go on", "two"]
    assert recorder.log == [
        "SETUP", "user", "MODEL", "gate", "answered", "assistant",
        "user", "MODEL", "gate", "answered", "assistant",
    ]  # fmt: skip
    assert recorder.answers == [(3, 2), (3, 2)]
    assert [step["finish_reason"] for step in state.steps] == ["stop", "stop"]
    assert state.steps[0]["input_tokens"] == 3
    assert dict(state["usage"]) == {"input_tokens": 6.0, "output_tokens": 4.0}


async def test_a_rewritten_context_is_reported_without_repeats(recorder: Recorder):
    class Forgetful(Logged):
        async def get_prompt_messages(self, state):
            talk = await super().get_prompt_messages(state)
            short = [talk[0], *talk[-2:]] if len(talk) > 3 else talk
            return [m.model_dump(exclude_none=True) for m in short]

    await run(Forgetful(max_turns=4), *[answer(f"a{i}") for i in range(4)])
    assert [m.content for m in recorder.messages] == [
        "q", "a0", "go on", "a1", "go on", "a2", "go on", "a3"
    ]  # fmt: skip


async def test_a_context_without_its_past_is_reported_without_repeats(recorder: Recorder):
    class Fresh(Logged):
        async def get_prompt_messages(self, state):
            talk = await super().get_prompt_messages(state)
            return talk if len(talk) == 1 else [talk[0], talk[-1]]

    await run(Fresh(max_turns=3), *[answer(f"a{i}") for i in range(3)])
    assert [m.content for m in recorder.messages] == ["q", "a0", "go on", "a1", "go on", "a2"]


async def test_a_model_error_ends_the_rollout_with_what_there_is(recorder: Recorder):
    error = vf.ModelError("refused")
    env = Logged(max_turns=5)
    state = await run(env, answer("one"), error)
    assert state["error"] is error
    assert state["stop_condition"] == "has_error"
    assert [m.content for m in state["completion"]] == ["one", "go on"]
    assert [m.content for m in recorder.messages] == ["q", "one", "go on"]
    assert env.log[-3:] == ["early", "b_last None", "render"]


async def test_a_prompt_that_is_too_long_is_no_error():
    state = await run(Logged(max_turns=5), answer("one"), vf.OverlongPromptError("long"))
    assert state["error"] is None
    assert state["is_truncated"] is True
    assert state["stop_condition"] == "prompt_too_long"
    assert [m.content for m in state["completion"]] == ["one"]


async def test_a_cut_answer_marks_the_rollout():
    state = await run(Logged(max_turns=1), answer("on", finish="length"))
    assert state["is_truncated"] is True
    assert state["error"] is None


async def test_the_environment_may_have_the_last_word(recorder: Recorder):
    class Final(Logged):
        async def env_response(self, messages, state, **kwargs):
            state["final_env_response"] = [{"role": "user", "content": "over"}]
            return state["final_env_response"]

    state = await run(Final(max_turns=9), answer("one"))
    assert state["stop_condition"] == "has_final_env_response"
    assert [m.content for m in state["completion"]] == ["one", "over"]
    assert [m.content for m in recorder.messages] == ["q", "one", "over"]


async def test_text_from_the_environment_is_sent_on():
    class Says(Logged):
        async def env_response(self, messages, state, **kwargs):
            return "plain"

    state = await run(Says(), answer("one"), answer("two"))
    assert state["completion"][1] == vf.TextMessage(content="plain")


@pytest.mark.parametrize(
    "said", [{"role": "user", "content": "hint"}, vf.UserMessage(content="hint")]
)
async def test_one_message_from_the_environment_needs_no_list_around_it(said: Any):
    class Says(Logged):
        async def env_response(self, messages, state, **kwargs):
            return said

    state = await run(Says(), answer("one"), answer("two"))
    assert [m.content for m in state["completion"]] == ["one", "hint", "two"]


class LookupFailed(Exception):
    pass


@pytest.mark.parametrize(
    "hook",
    [
        "setup_state", "env_response", "get_prompt_messages", "get_model_response",
        "add_model_response", "add_trajectory_step", "render_completion",
    ],
)  # fmt: skip
async def test_whatever_a_hook_raises_is_the_error_of_its_rollout(hook):
    error = LookupFailed("no table")

    async def fails(*args, **kwargs):
        raise error

    env = Logged()
    setattr(env, hook, fails)
    state = await run(env, answer("one"), answer("two"))
    assert state["error"] is error
    assert error.__traceback__ is not None
    assert state["is_completed"] is True
    assert env.log.count("early") == 1
    assert isinstance(state["completion"], list)


@pytest.mark.parametrize("raised", [LookupFailed("x"), SystemExit(1), asyncio.CancelledError()])
async def test_a_stop_condition_that_raises_ends_the_rollout(raised):
    class Broken(Logged):
        @vf.stop
        def broken(self, state):
            if state["trajectory"]:
                raise raised
            return False

    env = Broken(max_turns=9)
    state = await run(env, answer("one"))
    assert state["error"] is raised
    assert state["stop_condition"] == "has_error"
    assert [m.content for m in state["completion"]] == ["one"]
    assert "early" in env.log


async def test_a_cleanup_that_raises_does_not_keep_others_from_running():
    class Broken(Logged):
        @vf.cleanup(priority=9)
        async def broken(self, state):
            raise LookupFailed("gone")

    env = Broken(max_turns=1)
    state = await run(env, answer("one"))
    assert isinstance(state["error"], LookupFailed)
    assert env.log[-3:] == ["early", "b_last None", "render"]
    assert [m.content for m in state["completion"]] == ["one"]


async def test_cancelling_runs_the_cleanup_and_propagates():
    waiting = asyncio.Event()

    async def never():
        waiting.set()
        await asyncio.Event().wait()

    env = Logged()
    task = asyncio.create_task(run(env, never))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert env.log[-2:] == ["early", "b_last None"]


async def test_cancelling_inside_a_cleanup_still_runs_the_others():
    waiting = asyncio.Event()

    class Stuck(Logged):
        @vf.cleanup(priority=9)
        async def stuck(self, state):
            waiting.set()
            await asyncio.Event().wait()

    env = Stuck(max_turns=1)
    task = asyncio.create_task(run(env, answer("one")))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert env.log[-2:] == ["early", "b_last None"]


async def test_what_setup_returns_may_be_nothing_or_another_dict():
    class Forgets(Logged):
        async def setup_state(self, state):
            state["seen"] = 1

    class Copies(Logged):
        async def setup_state(self, state):
            return {**state, "seen": 2}

    assert (await run(Forgets(max_turns=1), answer("x")))["seen"] == 1
    state = await run(Copies(max_turns=1), answer("x"))
    assert state["seen"] == 2
    assert len(state.steps) == 1


async def test_rollouts_of_one_row_share_nothing():
    class Spoils(Logged):
        async def setup_state(self, state):
            state["info"]["tags"].append("x")
            state["prompt"][0].content += "!"
            state["prompt"].append(vf.UserMessage(content="more"))

    env = Spoils(max_turns=1)
    row = {**ROW, "prompt": [vf.UserMessage(content="q")], "info": {"tags": []}}
    first = await run(env, answer("1"), row=row)
    second = await run(env, answer("1"), row=row)
    assert first["info"] == second["info"] == {"tags": ["x"]}
    assert [m.content for m in second["prompt"]] == ["q!", "more"]
    assert row["info"] == {"tags": []}
    assert row["prompt"] == [vf.UserMessage(content="q")]
    assert [m.content for m in second["completion"]] == ["1"]


async def test_a_new_state_has_every_key():
    env = Logged(tool_defs=[{"name": "n", "description": "d", "parameters": {}}])
    row = {**ROW, "info": '{"level": 3}', "example_id": 7}
    client = StubClient()
    state = await env.init_state(row, client, "model", {"temperature": 1})
    assert state["info"] == {"level": 3}
    assert state["example_id"] == 7
    assert state["task"] == "t"
    assert state["prompt"] == [vf.UserMessage(content="q")]
    assert (state["client"], state["model"]) == (client, "model")
    assert state["sampling_args"] == {"temperature": 1}
    assert state["tool_defs"] == [vf.Tool(name="n", description="d", parameters={})]
    assert state["trajectory"] == []
    assert len(state["trajectory_id"]) == 32
    empty = ("completion", "reward", "metrics", "error", "final_env_response", "stop_condition")
    assert [state[key] for key in empty] == [None] * len(empty)
    assert (state["is_completed"], state["is_truncated"]) == (False, False)
    assert set(state["timing"]) == {"start_time", "generation_ms", "scoring_ms", "total_ms"}
    assert dict(state["usage"]) == {"input_tokens": 0.0, "output_tokens": 0.0}
    assert env.get_state_usage(state) is None


async def test_a_single_turn_is_scored_with_its_turn_counted(recorder: Recorder):
    def right(completion, answer):
        return completion[-1]["content"] == answer

    env = vf.SingleTurnEnv(dataset=DATASET, system_prompt="s", rubric=vf.Rubric([right]))
    client = StubClient(answer("a"))
    row = env.get_eval_dataset()[0]
    state = await env.rollout(row, client, "m", {"temperature": 0.5})
    await env.rubric.score_rollout(state)
    assert state["reward"] == 1.0
    assert state["metrics"] == {"right": 1.0, "num_turns": 1.0}
    assert client.calls == [
        {
            "prompt": [vf.SystemMessage(content="s"), vf.UserMessage(content="q")],
            "model": "m",
            "sampling_args": {"temperature": 0.5},
            "tools": None,
        }
    ]
    assert recorder.stages == [Stage.SETUP, Stage.MODEL]


async def test_tool_definitions_must_be_tools():
    env = Logged()
    state = await env.init_state(ROW, StubClient(), "m", {})
    with pytest.raises(TypeError, match="takes Tool objects"):
        await env.get_model_response(state, state["prompt"], tool_defs=[{"name": "x"}])
    with pytest.raises(ValueError, match="without 'function'"):
        Logged(tool_defs=[{"type": "function", "function": {}}])


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (([{"role": "user", "content": "y"}], {}), "env_response[0]: a message is an object"),
        (5, "env_response: a list of messages, not int"),
        ([{"content": "y"}], "env_response[0]: a message has the role None"),
        (None, "env_response returned None"),
    ],
)
async def test_what_env_response_may_not_say_is_named(said, text):
    class Says(vf.MultiTurnEnv):
        async def env_response(self, messages, state, **kwargs):
            return said

    state = await run(Says(dataset=DATASET, max_turns=2), answer("a"))
    assert text in str(state["error"])


async def test_what_setup_state_returns_replaces_the_prompt_and_the_answer_too():
    class Returns(vf.SingleTurnEnv):
        async def setup_state(self, state):
            return {"prompt": [{"role": "user", "content": "other"}], "answer": "b", "own": 1}

    env = Returns(dataset=DATASET)
    client = StubClient(answer("x"))
    state = await env.rollout({**ROW, "answer": "a"}, client, "m", {})
    assert client.calls[0]["prompt"] == [vf.UserMessage(content="other")]
    assert (state["prompt"], state["answer"], state["own"]) == (
        [vf.UserMessage(content="other")], "b", 1
    )  # fmt: skip

"""An agent's conversation as the screen receives it: every message once, every call once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "environments"))
from stub_client import Recorder, StubClient, answer

from tui_eval.compat.osmosis import RolloutAgentLoop, create_tool_result, execute_tool_calls
from tui_eval.compat.osmosis.environment import AgentLoopEnv
from tui_eval.error_classes import class_of
from tui_eval.errors import OverlongPromptError, PromptRefusedError
from tui_eval.observer import CURRENT
from tui_eval.rubrics.rubric import Rubric

ROW: dict[str, Any] = {
    "example_id": 4,
    "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    "answer": "42",
    "info": {"columns": {"level": 2}},
}
CALLS = [("c1", "look", "{}"), ("c2", "look", "{}")]


async def lead(run: Any, *answers: Any, **settings: Any) -> tuple[Any, Recorder, StubClient]:
    """Runs an agent whose `run` is this function."""
    agent = type("Agent", (RolloutAgentLoop,),
                 {"name": "a", "get_tools": lambda self, request: [], "run": run})()  # fmt: skip
    env = AgentLoopEnv(agent, dataset=[ROW], rubric=Rubric(), **settings)
    client, recorder = StubClient(*answers), Recorder()
    token = CURRENT.set(recorder)
    try:
        state = await env.rollout(dict(ROW), client, "m", {"n": 1, "top_p": 0.5, "extra_body": {}})
    finally:
        CURRENT.reset(token)
    return state, recorder, client


@pytest.mark.parametrize("way", ["append", "copies", "reworded", "new list"])
async def test_each_message_is_reported_once(way: str) -> None:
    async def run(self: Any, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        for _ in range(3):
            result = await ctx.chat(messages)
            messages.append(result.message)
            if way == "copies":
                messages = [dict(message) for message in messages]
            elif way == "reworded":
                messages = [*messages[:-1], {"role": "assistant", "content": "shortened"}]
            elif way == "new list":
                messages = [*messages]
            messages.append({"role": "user", "content": "go on"})
        return ctx.complete(messages)

    state, recorder, _ = await lead(run, answer("1"), answer("2"), answer("3"))
    assert state["error"] is None
    roles = ["system", "user", *["assistant", "user"] * 3]
    assert [message.role for message in recorder.messages] == roles
    assert [message.role for message in state["completion"]] == roles[2:]


async def test_calls_timed_by_the_helper_are_not_counted_again() -> None:
    async def make(call: Any) -> Any:
        return create_tool_result(call["id"], "seen")

    async def run(self: Any, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        result = await ctx.chat(messages)
        messages += [result.message, *await execute_tool_calls(result.tool_calls, make)]
        for _ in result.tool_calls:
            ctx.record_tool_call(5)
        return ctx.complete([*messages, (await ctx.chat(messages)).message])

    state, recorder, _ = await lead(run, answer(calls=CALLS), answer("done"))
    records = [("c1", "look", None, "seen"), ("c2", "look", None, "seen")]
    assert recorder.tools == records
    assert [record["id"] for record in state.tool_log] == ["c1", "c2"]
    assert recorder.log[-1] == "assistant"


async def test_calls_that_the_agent_times_itself() -> None:
    async def run(self: Any, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        result = await ctx.chat(messages)
        messages.append(result.message)
        for ms, call in zip((3, 8), result.tool_calls, strict=True):
            messages.append(create_tool_result(call["id"], "x"))
            ctx.record_tool_call(latency_ms=ms)
        return ctx.complete(messages)

    state, _, _ = await lead(run, answer(calls=CALLS))
    recorded = [(record["id"], record["ms"]) for record in state.tool_log]
    assert recorded == [("c1", 3), ("c2", 8)]


async def test_calls_that_no_message_answers_are_counted() -> None:
    async def run(self: Any, ctx: Any) -> Any:
        result = await ctx.chat(ctx.request.messages)
        ctx.record_tool_call(7)
        return ctx.complete([*ctx.request.messages, result.message])

    state, _, _ = await lead(run, answer(calls=CALLS[:1]))
    assert state.tool_log == [{"id": "c1", "name": "look", "ms": 7, "error": None}]


async def test_what_an_agent_is_given() -> None:
    seen: dict[str, Any] = {}

    async def run(self: Any, ctx: Any) -> Any:
        seen.update(request=ctx.request, debug=ctx.debug_enabled)
        result = await ctx.chat(ctx.request.messages, top_p=0.9, stop=["x"])
        seen.update(result=result)
        return ctx.complete([*ctx.request.messages, result.message])

    state, _, client = await lead(run, answer("yes"), max_turns=7)
    request, result = seen["request"], seen["result"]
    assert request.metadata == {
        "level": 2, "ground_truth": "42", "row_index": 4, "run_index": 0, "execution_mode": "eval"
    }  # fmt: skip
    assert (request.max_turns, request.completion_params) == (7, {"top_p": 0.5})
    assert (request.rollout_id, request.server_url) == (
        "eval-4-run-0",
        "http://local-rollout.local",
    )
    assert seen["debug"] is False
    assert result.message == {"role": "assistant", "content": "yes"}
    assert (result.content, result.has_tool_calls, result.finish_reason) == ("yes", False, "stop")
    assert result.usage["completion_tokens"] == 2
    sent = client.calls[0]["sampling_args"]
    assert sent == {"n": 1, "extra_body": {}, "top_p": 0.9, "stop": ["x"]}
    assert state["stop_condition"] == "stop"
    assert dict(state["usage"]) == {"input_tokens": 3, "output_tokens": 2}


async def test_an_agent_that_catches_a_failed_call_continues() -> None:
    async def run(self: Any, ctx: Any) -> Any:
        try:
            await ctx.chat(ctx.request.messages)
        except RuntimeError as error:
            return ctx.complete([{"role": "assistant", "content": f"sorry: {error}"}])

    state, _, _ = await lead(run, RuntimeError("no model"))
    assert state["error"] is None
    assert [message.content for message in state["completion"]] == ["sorry: no model"]


async def test_one_agent_serves_rollouts_at_the_same_time() -> None:
    import asyncio

    async def run(self: Any, ctx: Any) -> Any:
        result = await ctx.chat(ctx.request.messages)
        await asyncio.sleep(0)
        calls = await execute_tool_calls(
            result.tool_calls, lambda call: asyncio.sleep(0, create_tool_result(call["id"], "x"))
        )
        return ctx.complete([*ctx.request.messages, result.message, *calls])

    runs = await asyncio.gather(*(lead(run, answer(calls=[(f"c{i}", "look", "{}")]))
                                  for i in range(4)))  # fmt: skip
    logs = [[record["id"] for record in state.tool_log] for state, _, _ in runs]
    assert logs == [["c0"], ["c1"], ["c2"], ["c3"]]


async def test_a_talk_that_outgrows_the_context_is_truncated_and_no_error() -> None:
    async def run(self: Any, ctx: Any) -> Any:
        messages = list(ctx.request.messages)
        for _ in range(2):
            messages.append((await ctx.chat(messages)).message)
        return ctx.complete(messages)

    state, _, _ = await lead(run, answer("1"), OverlongPromptError("too long"))
    assert (state["error"], state["stop_condition"]) == (None, "prompt_too_long")
    assert (state["is_completed"], state["is_truncated"]) == (True, True)
    assert [message.content for message in state["completion"]] == ["1"]


async def test_a_prompt_that_is_refused_for_what_it_holds_is_the_rollouts_error() -> None:
    async def run(self: Any, ctx: Any) -> Any:
        return ctx.complete([(await ctx.chat(ctx.request.messages)).message])

    state, _, _ = await lead(run, PromptRefusedError("filtered"))
    assert class_of(state["error"]) == "model"
    assert state["stop_condition"] == "has_error"

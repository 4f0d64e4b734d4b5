"""Calls of one turn that run at the same time: order, failures, cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from stub_client import Recorder, StubClient, answer

import tui_eval as vf

ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
DATASET = [{"question": "q"}]


class Meeting:
    """Tools that can end only in an order that the test decides."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.arrived = {name: asyncio.Event() for name in ("first", "second")}
        self.may_end = {name: asyncio.Event() for name in ("first", "second")}

    async def first(self) -> str:
        return await self._stay("first")

    async def second(self) -> str:
        return await self._stay("second")

    async def _stay(self, name: str) -> str:
        self.log.append(f"{name} began")
        self.arrived[name].set()
        try:
            await self.may_end[name].wait()
        except asyncio.CancelledError:
            self.log.append(f"{name} cancelled")
            raise
        self.log.append(f"{name} ended")
        return name

    def plain(self) -> str:
        self.log.append("plain")
        return "plain"

    async def waits_for_first(self) -> str:
        await self.arrived["first"].wait()
        raise LookupError("second in order, first in time")

    async def fails_late(self) -> str:
        await self.arrived["second"].wait()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise ValueError("first in order")


def env_of(meeting: Meeting, kind: Any = vf.ToolEnv, **kwargs: Any) -> vf.ToolEnv:
    tools = [
        meeting.first,
        meeting.second,
        meeting.plain,
        meeting.waits_for_first,
        meeting.fails_late,
    ]
    return kind(dataset=DATASET, tools=tools, **kwargs)


def begin(env: vf.ToolEnv, *names: str) -> asyncio.Task[vf.State]:
    calls = [(f"c{place}", name, "{}") for place, name in enumerate(names)]
    client = StubClient(answer(calls=calls), answer("done"))
    return asyncio.create_task(env.rollout(dict(ROW), client, "m", {}))


async def test_async_tools_of_a_turn_overlap_and_answer_in_the_order_of_the_calls(
    recorder: Recorder,
):
    meeting = Meeting()
    rollout = begin(env_of(meeting, concurrent_tool_calls=True), "first", "plain", "second")
    await meeting.arrived["second"].wait()  # while the first has not ended
    meeting.may_end["second"].set()
    while not any(call[1] == "second" for call in recorder.tools):
        await asyncio.sleep(0)
    meeting.may_end["first"].set()
    state = await rollout
    assert meeting.log == ["first began", "plain", "second began", "second ended", "first ended"]
    assert [m.content for m in state["completion"][1:]] == ["first", "plain", "second", "done"]
    assert [m.tool_call_id for m in state["completion"][1:4]] == ["c0", "c1", "c2"]
    assert [record["id"] for record in state.tool_log] == ["c0", "c1", "c2"]
    assert [call[1] for call in recorder.tools] == ["plain", "second", "first"]
    assert recorder.log.count("tool+tool+tool") == 1


async def test_of_several_stop_errors_the_first_in_order_wins_whenever_it_came(
    recorder: Recorder,
):
    meeting = Meeting()
    env = env_of(meeting, stop_errors=[Exception], concurrent_tool_calls=True)
    rollout = begin(env, "first", "fails_late", "second", "plain", "waits_for_first", "plain")
    await meeting.arrived["second"].wait()
    while len(recorder.tools) < 3:  # plain, the later error, and the earlier one
        await asyncio.sleep(0)
    assert not rollout.done()
    meeting.may_end["first"].set()
    state = await rollout
    assert isinstance(state["error"], vf.ToolCallError)
    assert isinstance(state["error"].__cause__, ValueError)
    assert meeting.log == [
        "first began", "second began", "plain", "second cancelled", "first ended"
    ]  # fmt: skip
    assert [m.content for m in state["completion"][1:]] == ["first", "plain"]
    assert [m.role for m in recorder.messages] == ["user", "assistant", "tool", "tool"]
    assert [(r["name"], r["error"]) for r in state.tool_log] == [
        ("first", None),
        ("fails_late", "ValueError: first in order"),
        ("plain", None),
        ("waits_for_first", "LookupError: second in order, first in time"),
    ]


async def test_cancelling_a_rollout_cancels_every_call_and_waits_for_them():
    meeting = Meeting()
    rollout = begin(env_of(meeting, concurrent_tool_calls=True), "first", "second")
    await meeting.arrived["second"].wait()
    rollout.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rollout
    assert meeting.log == ["first began", "second began", "first cancelled", "second cancelled"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_tool_that_cancels_itself_fails_alone(recorder: Recorder):
    async def gives_up():
        raise asyncio.CancelledError("no more")

    def leaves():
        raise SystemExit(2)

    env = vf.ToolEnv(dataset=DATASET, tools=[gives_up, leaves])
    state = await begin(env, "gives_up", "leaves", "gives_up")
    assert [m.content for m in state["completion"][1:]] == ["no more", "2", "no more", "done"]
    assert state["error"] is None


class OwnCall(vf.ToolEnv):
    async def call_tool(self, tool_name, tool_args, tool_call_id, **kwargs):
        return await super().call_tool(tool_name, tool_args, tool_call_id, **kwargs)


class OwnResponse(vf.ToolEnv):
    async def env_response(self, messages, state, **kwargs):
        return await super().env_response(messages, state, **kwargs)


class Stateful(vf.StatefulToolEnv):
    def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
        return tool_args


async def overlap(env: vf.ToolEnv, meeting: Meeting) -> bool:
    rollout = begin(env, "first", "second")
    await meeting.arrived["first"].wait()
    try:
        await asyncio.wait_for(meeting.arrived["second"].wait(), 0.5)
    except TimeoutError:
        pass
    overlapped = meeting.arrived["second"].is_set()
    for event in meeting.may_end.values():
        event.set()
    state = await rollout
    assert [m.content for m in state["completion"][1:]] == ["first", "second", "done"]
    return overlapped


@pytest.mark.parametrize("kind", [vf.ToolEnv, OwnCall, OwnResponse, Stateful])
async def test_the_calls_of_a_turn_overlap_only_where_the_environment_says_so(kind):
    meeting = Meeting()
    assert not await overlap(env_of(meeting, kind), meeting)
    meeting = Meeting()
    assert await overlap(env_of(meeting, kind, concurrent_tool_calls=True), meeting)
    meeting = Meeting()
    env = env_of(meeting, kind)
    env.set_kwargs(concurrent_tool_calls=True)
    assert await overlap(env, meeting)


async def test_what_one_call_writes_the_next_one_of_its_turn_reads():
    kept = {}

    async def put(key: str) -> str:
        await asyncio.sleep(0.001)
        kept[key] = "1"
        return "put"

    async def get(key: str) -> str:
        return kept.get(key, "missing")

    env = vf.ToolEnv(dataset=DATASET, tools=[put, get])
    calls = [("c0", "put", '{"key": "a"}'), ("c1", "get", '{"key": "a"}')]
    client = StubClient(answer(calls=calls), answer("done"))
    state = await env.rollout(dict(ROW), client, "m", {})
    assert [m.content for m in state["completion"][1:]] == ["put", "1", "done"]

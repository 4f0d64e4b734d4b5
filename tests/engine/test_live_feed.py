"""Listeners of a real engine process: what they hear, what they may ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from program import Program, chat_answer, tool_call
from servers import FaultServer, Reply

from tui_eval.engine.live_feed import LiveFeed
from tui_eval.events import (
    Detach,
    Event,
    MessagesAdded,
    Pause,
    Resume,
    RolloutFinished,
    Stage,
    Stop,
    Subscribe,
    ToolFinished,
)
from tui_eval.fold.run_state import RunState
from tui_eval.fold.transcript import Rollout
from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
PATIENCE_S = 30.0


class Seat:
    """A listener with its fold and everything it heard."""

    def __init__(self, feed: LiveFeed) -> None:
        self.feed = feed
        self.state = RunState()
        self.heard: list[Event] = []

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kind)]

    def listen(self) -> None:
        for event in self.feed.drain():
            self.heard.append(event)
            self.state.apply(event)

    async def until(self, condition: Callable[[], Any], what: str) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self.listen()
                if value := condition():
                    return value
                await asyncio.sleep(0.01)
        raise AssertionError(what)


@asynccontextmanager
async def seat(feed: LiveFeed) -> AsyncIterator[Seat]:
    await feed.start()
    try:
        yield Seat(feed)
    finally:
        await feed.close()
        if feed.engine is not None:
            feed.engine.stop()
            await asyncio.to_thread(feed.engine.wait)
            feed.engine.clean_up()


TOOLS = """
    import tui_eval as vf

    def add(x: int, y: int) -> int:
        "Add."
        return x + y

    def load_environment():
        return vf.ToolEnv(
            tools=[add],
            dataset=[{"question": str(i)} for i in range(40)],
            system_prompt="Count.",
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


@pytest.fixture
def request_of(
    program: Program, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    program.environment("counted", TOOLS)
    monkeypatch.chdir(program.folder)
    for name, value in program.env.items():
        monkeypatch.setenv(name, value)

    def make(**raw: str) -> dict[str, Any]:
        base = {"model": "m", "api_base_url": f"{fault_server.url}/v1", "save_results": True}
        return {"env_id": "counted", "raw": {"rollouts_per_example": "1", **base, **raw}}

    return make


def answer(text: str, delay: float = 0.0, **message: Any) -> Reply:
    return Reply(body=chat_answer(text, **message), delay=delay)


CALLS = {"tool_calls": [tool_call("add", '{"x": 1, "y": 2}')]}


async def test_pausing_holds_rollouts_before_their_next_call_and_resuming_lets_them_go(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [answer("", 0.2, **CALLS)] * 4 + [answer("done")])
    async with seat(LiveFeed(request_of(num_examples="12", max_concurrent="4"))) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 4, "four calls in flight")
        one.feed.send(Pause())
        await one.until(lambda: one.state.by_stage[Stage.HELD] == 4, "all four are held")
        assert not one.state.gate_open
        assert one.state.in_flight == 0
        sent = len(fault_server.requests)
        assert sent == 4
        await asyncio.sleep(0.3)  # long enough that a call would have come through
        one.listen()
        assert len(fault_server.requests) == sent
        assert one.state.finished == 0
        one.feed.send(Resume())
        await one.until(lambda: one.state.end, "the run ends")
        assert one.state.gate_open
        assert one.state.finished == 12
        slowest = max(event.generation_ms for event in one.of(RolloutFinished))
        assert slowest < 300 + 250, "time at the gate counts for no rollout"


async def test_messages_come_only_for_subscribed_rollouts_and_tell_the_story_on_disk(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    script = [answer("", 0.1, **CALLS)] * 2 + [answer("the end", 0.3)]
    fault_server.script(CHAT, script)
    async with seat(LiveFeed(request_of(num_examples="2", max_concurrent="2"))) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 2, "both are asked")
        assert not one.of(MessagesAdded)
        one.feed.send(Subscribe([1]))
        await one.until(lambda: one.state.end, "the run ends")
        assert {event.row for event in one.of(MessagesAdded)} == {1}
        assert [event.result for event in one.of(ToolFinished)] == ["3"]
        live = Rollout(row=1)
        for event in one.heard:
            if isinstance(event, (MessagesAdded, ToolFinished)):
                live.apply(event)
        saved = one.feed.saved(1, one.state.offset[1], one.state.length[1])
        assert saved is not None
        assert live.messages == saved.messages
        assert [e.text for e in live.entries()] == [e.text for e in saved.entries()]
        tools = [entry.tool for entry in saved.entries() if entry.tool]
        assert [(use.name, use.result) for use in tools] == [("add", "3")]


async def test_who_joins_late_sees_what_the_first_listener_sees(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    fault_server.script(CHAT, [answer("yes")] * 5 + [answer("yes", 0.4)])
    async with seat(LiveFeed(request_of(num_examples="10", max_concurrent="5"))) as one:
        await one.until(lambda: one.state.finished >= 5, "five are done")
        held = holder(Path(one.state.run.path) / "lock")
        assert held is not None
        async with seat(LiveFeed(socket_path=held.socket)) as two:
            await two.until(lambda: two.state.end, "the run ends for the second")
            await one.until(lambda: one.state.end, "the run ends for the first")
            assert two.state.finished == one.state.finished == 10
            assert two.state.reward_mean.result() == one.state.reward_mean.result()
            assert list(two.state.offset) == list(one.state.offset)


async def test_a_listener_that_detaches_leaves_the_run_to_go_on(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    fault_server.script(CHAT, [answer("yes", 0.05)])
    feed = LiveFeed(request_of(num_examples="20", max_concurrent="2"))
    await feed.start()
    one = Seat(feed)
    await one.until(lambda: one.state.finished >= 2, "it runs")
    feed.send(Detach())
    await feed.close()
    assert feed.engine is not None
    assert await asyncio.to_thread(feed.engine.wait) == 0
    feed.engine.clean_up()
    assert len(program.only_run().rows) == 20


async def test_stop_ends_the_run_resumably(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    fault_server.script(CHAT, [answer("yes"), Reply(hang=True)])
    async with seat(LiveFeed(request_of(num_examples="5", max_concurrent="2"))) as one:
        await one.until(lambda: one.state.finished >= 1, "one is done")
        one.feed.send(Stop())
        end = await one.until(lambda: one.state.end, "the run ends")
        assert (end.status, end.exit_code) == ("interrupted", 130)
    assert program.only_run().metadata["status"] == "interrupted"

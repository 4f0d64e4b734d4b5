"""Listeners of a real engine process: what they hear, what they may ask for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS
from engine_listener import EngineListener, listening
from program import Program, chat_answer, tool_call
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent
from tiers import first_always

from tui_eval.commands import Detach, Pause, Stop, Subscribe, Unpause
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import MessagesAdded, RolloutFinished, Stage, TextAdded, ToolFinished
from tui_eval.feeds.live_feed import LiveFeed, look_at_engine
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
STREAMED = ["openai_chat_completions", "openai_responses", "anthropic_messages"]


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


@pytest.mark.parametrize("num_workers", first_always(["1", None]), ids=["in-a-worker", "here"])
async def test_pausing_holds_rollouts_before_their_next_call_and_resuming_lets_them_go(
    request_of: Callable[..., dict[str, Any]],
    fault_server: FaultServer,
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [answer("", 0.2, **CALLS)] * 4 + [answer("done")])
    async with listening(
        LiveFeed(Launch(request_of(num_examples="12", max_concurrent="4", num_workers=num_workers)))
    ) as one:
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
        one.feed.send(Unpause())
        await one.until(lambda: one.state.end, "the run ends")
        assert one.state.gate_open
        assert one.state.finished == 12
        paused = [event for event in one.of(RolloutFinished) if event.row < 4]
        assert len(paused) == 4
        for event in paused:
            passed_ms = (event.at - event.started_at) * 1000
            assert event.generation_ms < passed_ms - 250, "time at the gate counts for no rollout"


@pytest.mark.slow
async def test_a_pause_requested_before_the_run_begins_holds(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer
) -> None:
    feed = LiveFeed(Launch(request_of(num_examples="3")))
    assert feed.live and not LiveFeed().live, "it takes commands once it has a request"
    feed.send(Pause())
    async with listening(feed) as one:
        await one.until(lambda: one.state.run is not None, "the run begins")
        await one.until(lambda: not one.state.gate_open, "the gate is closed")
        assert not fault_server.requests
        feed.send(Unpause())
        await one.until(lambda: one.state.end, "the run ends")
        assert one.state.finished == 3


@pytest.mark.parametrize("num_workers", first_always(["1", None]), ids=["in-a-worker", "here"])
async def test_messages_come_only_for_subscribed_rollouts_and_match_the_trajectory_on_disk(
    request_of: Callable[..., dict[str, Any]],
    fault_server: FaultServer,
    program: Program,
    num_workers: str | None,
) -> None:
    script = [answer("", 0.1, **CALLS)] * 2 + [answer("the end", 0.3)]
    fault_server.script(CHAT, script)
    async with listening(
        LiveFeed(Launch(request_of(num_examples="2", max_concurrent="2", num_workers=num_workers)))
    ) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 2, "both are requested")
        assert not one.of(MessagesAdded)
        one.feed.send(Subscribe([1]))
        await one.until(lambda: one.state.end, "the run ends")
        assert {event.row for event in one.of(MessagesAdded)} == {1}
        assert [event.result for event in one.of(ToolFinished)] == ["3"]
        live = Rollout(row=1)
        for event in one.events:
            if isinstance(event, (MessagesAdded, ToolFinished)):
                live.apply(event)
        saved = one.feed.saved(1, one.state.offset[1], one.state.length[1])
        assert saved is not None
        assert live.messages == saved.messages
        assert len(live.steps) == 2
        assert live.steps == saved.steps
        assert [e.text for e in live.entries()] == [e.text for e in saved.entries()]
        tools = [entry.tool for entry in saved.entries() if entry.tool]
        assert [(use.name, use.result) for use in tools] == [("add", "3")]


@pytest.mark.parametrize("client_type", first_always(STREAMED))
async def test_the_text_of_a_running_turn_comes_only_for_a_subscribed_rollout(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, client_type: str
) -> None:
    whole = "It is four, I think."
    body = sent(events_of(client_type, saying(client_type, whole), [4]))
    resumed = threading.Event()
    hold = (body.index(b"I th"), resumed)
    fault_server.script(PATHS[client_type], [Reply(body=body, headers=SSE, hold=hold)])
    request = request_of(
        num_examples="2", max_concurrent="2", stream=True, no_preflight=True,
        api_client_type=client_type,
    )  # fmt: skip
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 2, "both are requested")
        one.feed.send(Subscribe([1]))
        await one.until(lambda: one.of(TextAdded), "text comes before the answer is whole")
        assert not one.state.finished
        resumed.set()
        await one.until(lambda: one.state.end, "the run ends")
        texts = one.of(TextAdded)
        assert {(event.row, event.call, event.kind) for event in texts} == {(1, 1, "text")}
        text = "".join(event.text for event in texts)
        assert whole.startswith(text)
        assert len(text) > len(whole) / 2
        assert one.of(MessagesAdded)[-1].messages[-1]["content"] == whole
        saved = one.feed.saved(0, one.state.offset[0], one.state.length[0])
        assert saved is not None
        assert saved.messages[-1]["content"] == whole


def saying(client_type: str, text: str) -> dict[str, Any]:
    """The good answer of a protocol with another text."""
    said = json.dumps(ANSWERS[client_type]).replace('"ok"', json.dumps(text))
    answer: dict[str, Any] = json.loads(said)
    return answer


async def test_who_joins_late_sees_what_the_first_listener_sees(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    fault_server.script(CHAT, [answer("yes")] * 5 + [answer("yes", 0.4)])
    async with listening(
        LiveFeed(Launch(request_of(num_examples="10", max_concurrent="5")))
    ) as one:
        await one.until(lambda: one.state.finished >= 5, "five are done")
        held = holder(Path(one.state.run.path) / "lock")
        assert held is not None
        async with listening(LiveFeed(socket_path=held.socket)) as two:
            await two.until(lambda: two.state.end, "the run ends for the second")
            await one.until(lambda: one.state.end, "the run ends for the first")
            assert two.state.finished == one.state.finished == 10
            assert two.state.reward_mean.result() == one.state.reward_mean.result()
            assert list(two.state.offset) == list(one.state.offset)


async def test_a_listener_that_detaches_lets_the_run_continue(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    fault_server.script(CHAT, [answer("yes", 0.05)])
    feed = LiveFeed(Launch(request_of(num_examples="20", max_concurrent="2")))
    await feed.start()
    one = EngineListener(feed)
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
    async with listening(LiveFeed(Launch(request_of(num_examples="5", max_concurrent="2")))) as one:
        await one.until(lambda: one.state.finished >= 1, "one is done")
        one.feed.send(Stop())
        end = await one.until(lambda: one.state.end, "the run ends")
        assert (end.status, end.exit_code) == ("interrupted", 130)
    assert program.only_run().metadata["status"] == "interrupted"


@pytest.mark.slow
async def test_looks_at_a_run_that_nobody_else_watches_do_not_end_it(
    request_of: Callable[..., dict[str, Any]], fault_server: FaultServer, program: Program
) -> None:
    """The engine writes all the time: a listener that just hung up would not be noticed."""
    fault_server.script(CHAT, [answer("", 0.01, **CALLS)] * 40 + [answer("done", 0.01)])
    feed = LiveFeed(
        Launch(request_of(num_examples="40", rollouts_per_example="40", max_concurrent="4"))
    )
    async with listening(feed) as one:
        await one.until(lambda: one.state.finished, "it has rows")
        feed.send(Detach())
        await feed.close()
        held = holder(program.only_run().path / "lock")
        assert held is not None and held.pid > 0
        seen = [0]
        for _ in range(20):
            state = RunState()
            await look_at_engine(
                held.socket, state.apply, lambda state=state: state.run is not None
            )
            assert state.run is not None and state.end is None
            seen.append(state.finished)
        assert seen == sorted(seen)

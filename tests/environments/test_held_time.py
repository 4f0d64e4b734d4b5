"""Times of a rollout that is held in the middle of a call."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from run_events import started
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.clients import pacing, request_retries
from tui_eval.engine.limits.limits import Held
from tui_eval.engine.limits.slots import Slots
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import Stage
from tui_eval.observer import CURRENT
from tui_eval.worker.gate import Gate
from tui_eval.worker.rollout_observer import RolloutObserver


async def test_the_log_names_a_rollout_as_the_list_does(caplog: pytest.LogCaptureFixture) -> None:
    hub = Hub()
    hub.publish(started(1, 1))
    watch = RolloutObserver(0, 2, hub, Gate(), Held())
    watch.began(vf.State(input={"example_id": "seven"}))
    async with watch.request_sleeps(0.0, "status 429"):
        pass
    assert "example seven #2, attempt 1: status 429" in caplog.text


async def test_the_log_has_messages_and_tools_in_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tui_eval.rollout")
    hub = Hub()
    hub.publish(started(1, 1))
    watch = RolloutObserver(0, 0, hub, Gate(), Held())
    call = vf.ToolCall(id="c1", name="multiply", arguments='{"a": 2}')
    watch.messages_added([vf.UserMessage(content="It's\n\x1b[2Jtwo"), {"role": "system"}])
    watch.messages_added([vf.AssistantMessage(content="I multiply", tool_calls=[call])])
    watch.tool_finished({"id": "c1", "name": "multiply", "ms": 4.0, "error": None}, "4")
    watch.tool_finished({"id": "c1", "name": "multiply", "ms": 4.0, "error": "ToolCallError"}, "no")
    assert [record.getMessage().partition("attempt 1: ")[2] for record in caplog.records] == [
        "user: It's\\n␛[2Jtwo",
        "system: ",
        'assistant: I multiply; calls {"id":"c1","name":"multiply","arguments":"{\\"a\\": 2}"}',
        "tool multiply took 4 ms",
        "tool multiply took 4 ms, failed: ToolCallError",
    ]


class TooMuch(Exception):
    """Status 429, with the wait that the endpoint asks for."""

    status_code = 429

    def __init__(self, seconds: int) -> None:
        self.response = SimpleNamespace(headers={"retry-after": str(seconds)})


class RefusedOnce(StubClient):
    """Has each request tried again after so many seconds."""

    def __init__(self, seconds: int, *answers: Any) -> None:
        super().__init__(*answers)
        self.seconds = seconds
        self.refuse: Callable[[], None] = lambda: None

    async def get_response(self, *args: Any, **more: Any) -> Any:
        tries = iter([TooMuch(self.seconds)])

        async def send() -> Any:
            for error in tries:
                self.refuse()
                raise error
            return await StubClient.get_response(self, *args, **more)

        return await request_retries.send_with_retries(
            send, request_retries.Retries(1), more["state"]
        )


class Paused:
    """A rollout of one call, and a clock that runs only while its gate is closed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.gate = Gate()
        self.slots = Slots(1)
        self.held = Held()
        self.env = vf.SingleTurnEnv(dataset=[{"question": "q", "answer": "a"}])
        hub = Hub()
        hub.publish(started(1, 1))
        self.watch = RolloutObserver(0, 0, hub, self.gate, self.held)

    def pause(self) -> None:
        """Closes the gate; it opens when the rollout waits there."""
        self.gate.close()
        asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        if self.watch.stage != Stage.HELD:
            asyncio.get_running_loop().call_soon(self._tick)
            return
        self.now += 100.0
        self.gate.open()

    async def generate(self, client: StubClient) -> vf.State:
        CURRENT.set(self.watch)
        row = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
        return await self.env.rollout(row, client, "m", {})

    async def check(self, client: StubClient) -> None:
        """Runs it; the pause is no part of its time."""
        state = await self.generate(client)
        assert self.now == 100.0
        assert state["timing"]["generation_ms"] == state["timing"]["total_ms"] == 0.0
        assert state.steps[0]["model_ms"] == 0.0


@pytest.fixture
async def rollout(monkeypatch: pytest.MonkeyPatch) -> Paused:
    paused = Paused()
    monkeypatch.setattr(time, "perf_counter", lambda: paused.now)
    monkeypatch.setattr(pacing, "now", lambda: paused.now)
    return paused


async def test_a_pause_between_two_tries_of_a_request_counts_for_no_rollout(
    rollout: Paused, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sleep(seconds: float) -> None:
        rollout.pause()

    monkeypatch.setattr(pacing, "sleep", sleep)
    await rollout.check(RefusedOnce(1, answer("one")))


@pytest.mark.parametrize("pause_is_first", [True, False])
async def test_a_pause_in_which_a_refused_request_waits_for_its_slot_counts_for_no_rollout(
    rollout: Paused, monkeypatch: pytest.MonkeyPatch, pause_is_first: bool
) -> None:
    other = Held()
    await rollout.held.take(rollout.slots)

    async def tick() -> None:
        while "waits for a slot" not in rollout.watch.note:
            await asyncio.sleep(0)
        rollout.gate.close()
        rollout.now += 100.0
        rollout.gate.open()
        other.release()

    async def sleep(seconds: float) -> None:
        await other.take(rollout.slots)  # somebody else has its slot meanwhile
        if pause_is_first:
            rollout.gate.close()
        tasks.append(asyncio.create_task(tick()))

    tasks: list[asyncio.Task[None]] = []
    monkeypatch.setattr(pacing, "sleep", sleep)
    await rollout.check(RefusedOnce(1, answer("one")))


async def test_a_pause_counts_once_for_two_calls_of_a_rollout_that_wait(rollout: Paused) -> None:
    state = await rollout.generate(StubClient(answer("first")))
    rollout.now += 7.0
    rollout.pause()
    calls = [
        rollout.env.get_model_response(state, "q", client=StubClient(answer("x"))) for _ in "ab"
    ]
    await asyncio.gather(*calls)
    assert rollout.now - state.began == 7.0


async def test_tries_that_failed_and_waits_are_a_rollouts_time_and_no_model_calls(
    rollout: Paused, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sleep(seconds: float) -> None:
        rollout.now += seconds

    monkeypatch.setattr(pacing, "sleep", sleep)

    async def three_seconds() -> Any:
        rollout.now += 3.0
        return answer("one")

    client = RefusedOnce(50, three_seconds)
    client.refuse = lambda: setattr(rollout, "now", 7.0)
    state = await rollout.generate(client)
    assert state["timing"]["generation_ms"] == 60_000.0
    assert state.steps[0]["model_ms"] == 3_000.0


async def test_a_call_that_waits_takes_nothing_off_another_one_beside_it(
    rollout: Paused, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = asyncio.Event()

    async def sleep(seconds: float) -> None:
        rollout.now += seconds
        slept.set()

    async def after_the_other_slept() -> Any:
        await slept.wait()
        return answer("two")

    monkeypatch.setattr(pacing, "sleep", sleep)
    state = await rollout.generate(StubClient(answer("first")))
    clients = (StubClient(after_the_other_slept), RefusedOnce(50, answer("one")))
    calls = [rollout.env.get_model_response(state, "q", client=one) for one in clients]
    await asyncio.gather(*calls)
    assert sorted(step["model_ms"] for step in state.steps) == [0.0, 0.0, 50_000.0]


async def test_a_pause_before_a_call_counts_for_no_rollout(rollout: Paused) -> None:
    rollout.pause()
    await rollout.check(StubClient(answer("one")))

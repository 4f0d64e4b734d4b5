"""What the engine notes of a rollout that is held in the middle of a call."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from run_events import started
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.engine.limiting.gate import Gate
from tui_eval.engine.limiting.limits import Held
from tui_eval.engine.seam.hub import Hub
from tui_eval.engine.watch import RolloutWatch
from tui_eval.events import Stage
from tui_eval.observer import CURRENT


async def test_the_log_names_a_rollout_as_the_list_does(caplog: pytest.LogCaptureFixture) -> None:
    hub = Hub()
    hub.tell(started(1, 1))
    watch = RolloutWatch(0, 2, hub, Gate(), Held())
    watch.began(vf.State(input={"example_id": "seven"}))
    async with watch.request_sleeps(0.0, "status 429"):
        pass
    assert "example seven #2, attempt 1: status 429" in caplog.text


class Paused:
    """A rollout of one call, and a clock that goes on only while its gate is closed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.gate = Gate()
        hub = Hub()
        hub.tell(started(1, 1))
        self.watch = RolloutWatch(0, 0, hub, self.gate, Held())

    def pause(self) -> None:
        """Closes the gate; it opens when the rollout waits there."""
        self.gate.close()
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if self.watch.stage != Stage.HELD:
            asyncio.get_running_loop().call_soon(self._go_on)
            return
        self.now += 100.0
        self.gate.open()

    async def check(self, client: StubClient) -> None:
        """Runs it; the pause is no part of its time."""
        CURRENT.set(self.watch)
        env = vf.SingleTurnEnv(dataset=[{"question": "q", "answer": "a"}])
        row = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
        state = await env.rollout(row, client, "m", {})
        assert self.now == 100.0
        assert state["timing"]["generation_ms"] == state["timing"]["total_ms"] == 0.0
        assert state.steps[0]["model_ms"] == 0.0


@pytest.fixture
async def rollout(monkeypatch: pytest.MonkeyPatch) -> Paused:
    paused = Paused()
    monkeypatch.setattr(time, "perf_counter", lambda: paused.now)
    return paused


async def test_a_pause_between_two_tries_of_a_request_counts_for_no_rollout(
    rollout: Paused,
) -> None:
    class RefusedOnce(StubClient):
        async def get_response(self, *args: Any, **more: Any) -> Any:
            rollout.pause()
            async with rollout.watch.request_sleeps(0.0, "status 429"):
                pass
            return await super().get_response(*args, **more)

    await rollout.check(RefusedOnce(answer("one")))


async def test_a_pause_before_a_call_counts_for_no_rollout(rollout: Paused) -> None:
    rollout.pause()
    await rollout.check(StubClient(answer("one")))

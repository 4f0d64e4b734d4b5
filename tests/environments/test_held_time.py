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
from tui_eval.observer import CURRENT


async def test_the_log_names_a_rollout_as_the_list_does(caplog: pytest.LogCaptureFixture) -> None:
    hub = Hub()
    hub.tell(started(1, 1))
    watch = RolloutWatch(0, 2, hub, Gate(), Held())
    watch.began(vf.State(input={"example_id": "seven"}))
    async with watch.request_sleeps(0.0, "status 429"):
        pass
    assert "example seven #2, attempt 1: status 429" in caplog.text


async def test_a_pause_between_two_tries_of_a_request_counts_for_no_rollout() -> None:
    gate, held_for = Gate(), 0.0

    class RefusedOnce(StubClient):
        async def get_response(self, *args: Any, **more: Any) -> Any:
            nonlocal held_for
            gate.close()
            paused = time.perf_counter()
            asyncio.get_running_loop().call_later(0.2, gate.open)
            async with watch.request_sleeps(0.0, "status 429"):
                pass
            held_for = time.perf_counter() - paused
            return await super().get_response(*args, **more)

    hub = Hub()
    hub.tell(started(1, 1))
    watch = RolloutWatch(0, 0, hub, gate, Held())
    CURRENT.set(watch)
    env = vf.SingleTurnEnv(dataset=[{"question": "q", "answer": "a"}])
    row = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
    began = time.perf_counter()
    state = await env.rollout(row, RefusedOnce(answer("one")), "m", {})
    most = (time.perf_counter() - began - held_for) * 1000 + 1
    assert state["timing"]["generation_ms"] < most
    assert state.steps[0]["model_ms"] < most

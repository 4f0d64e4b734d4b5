"""Events that listeners get before people's code holds the engine's loop."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport import hub as hub_module
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.server import listen
from tui_eval.engine.transport.sockets import bind_socket
from tui_eval.event_frames import HEADER_BYTES, decode_events
from tui_eval.events import Event, Noticed, RunStarted, Stage
from tui_eval.worker.gate import Gate
from tui_eval.worker.ports import BATCH_S
from tui_eval.worker.rollout_observer import RolloutObserver


@asynccontextmanager
async def connected(hub: Hub) -> AsyncIterator[socket.socket]:
    """A listener's end that is read without letting the loop run; the run has started."""
    path = f"/tmp/tui-eval-test-{id(hub)}.sock"
    server = await listen(bind_socket(path), hub, lambda command: None, lambda: None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(path)
        client.setblocking(False)
        await hub.somebody_listens.wait()
        hub.publish(RunStarted(0, 1.0, "/r", "env", "m", "url", 8, 1, 8, 8, True, {}, {}))
        hub.flush()
        received(client)
        yield client
    server.close()
    Path(path).unlink()


def received(client: socket.socket) -> list[Event]:
    """The events that have come."""
    found: list[Event] = []
    while True:
        try:
            size = int.from_bytes(client.recv(HEADER_BYTES), "big")
        except BlockingIOError:
            return found
        found += decode_events(client.recv(size))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The hub's clock; tests move it on."""
    now = [1000.0]
    monkeypatch.setattr(
        hub_module, "time", SimpleNamespace(time=time.time, monotonic=lambda: now[0])
    )
    return now


async def test_what_waits_is_reported_before_code_that_may_hold_the_loop_again(
    clock: list[float],
) -> None:
    hub = Hub()
    async with connected(hub) as client:
        observer = RolloutObserver(3, 0, hub, Gate(), Held())
        observer.staged(Stage.TOOL)
        assert received(client) == []

        clock[0] += 2.0
        observer.tool_finished({"id": "id", "name": "sleep", "ms": 2000, "error": None}, "")
        observer.staged(Stage.SCORING)
        assert [(event.stage, event.tool_calls) for event in received(client)] == [
            (Stage.SCORING, 1)
        ]

        observer.model_answered(10, 1)
        observer.staged(Stage.TOOL)
        assert [(event.stage, event.turns) for event in received(client)] == [(Stage.TOOL, 1)]

        clock[0] += hub_module.REMEMBERED_S
        observer.staged(Stage.MODEL)
        observer.staged(Stage.TOOL)
        assert received(client) == []


async def test_a_loop_that_is_late_because_it_has_much_to_do_publishes_in_batches(
    clock: list[float],
) -> None:
    hub = Hub()
    async with connected(hub) as client:
        for row in range(8):
            observer = RolloutObserver(row, 0, hub, Gate(), Held())
            clock[0] += hub_module.HELD_S / 2
            observer.staged(Stage.SCORING)
        assert received(client) == []


async def test_a_pause_in_which_nothing_waits_is_no_hold(clock: list[float]) -> None:
    hub = Hub()
    async with connected(hub) as client:
        observer = RolloutObserver(3, 0, hub, Gate(), Held())
        hub.flush()
        received(client)
        clock[0] += 2.0
        observer.staged(Stage.TOOL)
        assert received(client) == []


async def test_an_event_is_published_before_the_first_code_that_may_hold_the_loop(
    clock: list[float],
) -> None:
    hub = Hub()
    async with connected(hub) as client:
        observer = RolloutObserver(3, 0, hub, Gate(), Held())
        for place in range(3):
            hub.publish(Noticed(0, 1.0, "info", str(place)))
            observer.staged(Stage.SCORING)
            assert str(place) in [getattr(event, "text", "") for event in received(client)]
        clock[0] += 2.0  # code holds the loop
        observer.staged(Stage.TOOL)
        observer.model_answered(10, 1)
        observer.staged(Stage.TOOL)
        assert received(client), "it is known to hold the loop"


async def test_many_facts_at_a_time_are_reported_in_batches(clock: list[float]) -> None:
    hub = Hub()
    async with connected(hub) as client:
        observer = RolloutObserver(3, 0, hub, Gate(), Held())
        frames = 0
        for _ in range(1000):
            clock[0] += 0.001
            hub.publish(Noticed(0, 1.0, "info", ""))
            observer.staged(Stage.SCORING)
            frames += bool(received(client))
        assert frames <= 1.0 / BATCH_S + 1 + hub_module.EARLY_AT_MOST

"""Events that listeners get of many, also one that does not read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tui_eval.commands import Command, Pause, encode_command
from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.server import listen
from tui_eval.engine.transport.sockets import bind_socket
from tui_eval.event_frames import HEADER_BYTES, decode_events, frame
from tui_eval.events import (
    Event,
    GateMoved,
    Hello,
    ReadAgain,
    RolloutFinished,
    RolloutStaged,
    RowsTakenBack,
    RunFinished,
    RunStarted,
    Stage,
)
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.worker.gate import Gate
from tui_eval.worker.rollout_observer import RolloutObserver

TOTAL = 30_000


def started() -> RunStarted:
    return RunStarted(0, 1.0, "/run", "env", "m", "url", TOTAL, 1, TOTAL, 8, True, {}, {})


def finished(row: int) -> RolloutFinished:
    return RolloutFinished(
        *(0, 1.0, row, row, 0, 1, row * 100, 100, 1.0, None, "stop", False, 1, 0, 3, 4),
        *(0.0, 1.0, 1.0, 2.0, {"a metric with a name that takes room": 1.0}),
    )


@asynccontextmanager
async def listening(hub: Hub, commands: list[Command] | None = None) -> AsyncIterator[str]:
    # a Unix socket's path must be short
    path = f"/tmp/tui-eval-test-{id(hub)}.sock"
    vanished: list[bool] = []
    obeyed = [] if commands is None else commands
    server = await listen(bind_socket(path), hub, obeyed.append, lambda: vanished.append(True))
    try:
        yield path
    finally:
        server.close()
        Path(path).unlink()


async def read_all(reader: asyncio.StreamReader) -> list[Event]:
    """Everything up to the end of the run."""
    received: list[Event] = []
    while not received or not isinstance(received[-1], RunFinished):
        size = int.from_bytes(await reader.readexactly(HEADER_BYTES), "big")
        received += decode_events(await reader.readexactly(size))
    return received


async def test_events_come_in_order_and_numbered() -> None:
    hub = Hub()
    async with listening(hub) as path:
        reader, writer = await asyncio.open_unix_connection(path)
        await hub.somebody_listens.wait()
        hub.publish(started())
        for row in range(50):
            hub.publish(finished(row))
            await asyncio.sleep(0.001)
        hub.publish(RunFinished(0, 1.0, "finished", 0))
        received = await read_all(reader)
        writer.close()
    assert isinstance(received[0], Hello)
    assert [event.seq for event in received[1:]] == list(range(1, 53))
    assert [event.row for event in received if isinstance(event, RolloutFinished)] == list(
        range(50)
    )


async def test_stages_within_a_batch_are_published_once_as_they_are_at_its_end() -> None:
    hub, gate, held = Hub(), Gate(), Held()
    async with listening(hub) as path:
        reader, writer = await asyncio.open_unix_connection(path)
        await hub.somebody_listens.wait()
        hub.publish(started())
        hub.flush()  # pending events go out before people's code runs
        observer = RolloutObserver(7, 0, hub, gate, held)
        for _ in range(20):
            await observer.model_call("m", {}, ())
            observer.model_answered(10, 1)
            observer.staged(Stage.TOOL)
        hub.flush()
        hub.publish(RunFinished(0, 1.0, "finished", 0))
        received = await read_all(reader)
        writer.close()
    (staged,) = (event for event in received if isinstance(event, RolloutStaged))
    assert (staged.row, staged.stage, staged.turns) == (7, Stage.TOOL, 20)
    assert (staged.input_tokens, staged.output_tokens) == (200, 20)


async def test_stages_of_very_many_rollouts_go_out_less_often_than_facts() -> None:
    hub, gate, held = Hub(), Gate(), Held()
    hub.publish(started())
    hub.flush()
    observers = [RolloutObserver(row, 0, hub, gate, held) for row in range(400)]

    def stages() -> set[int]:
        return {hub.state.stage[row] for row in range(400)}

    hub.flush()
    assert stages() == {Stage.SETUP}
    began = time.monotonic()
    for observer in observers:
        observer.staged(Stage.SCORING)
    hub.publish(finished(400))
    while hub.state.stage[400] != Stage.DONE:
        await asyncio.sleep(0.001)
    if time.monotonic() - began < 0.3:  # else this test was held up
        assert stages() == {Stage.SETUP}
    while stages() != {Stage.SCORING}:
        await asyncio.sleep(0.001)
    assert time.monotonic() - began >= 0.35
    observers[0].staged(Stage.TOOL)
    hub.flush()
    assert hub.state.stage[0] == Stage.TOOL, "who needs all gets it"


async def joined_late(hub: Hub) -> RunState:
    """The events of somebody who joins now."""
    async with listening(hub) as path:
        reader, writer = await asyncio.open_unix_connection(path)
        await hub.somebody_listens.wait()
        hub.publish(RunFinished(0, 1.0, "finished", 0))
        hub.flush()
        received = await read_all(reader)
        writer.close()
    late = RunState()
    for event in received[:-1]:
        late.apply(event)
    return late


async def test_who_joins_late_learns_since_when_a_rollout_is_at_work() -> None:
    hub = Hub()
    hub.publish(started())
    hub.active[7] = RolloutObserver(7, 0, hub, Gate(), Held())
    hub.flush()
    since = hub.state.since[7]
    await asyncio.sleep(0.001)
    late = await joined_late(hub)
    assert late.since[7] == pytest.approx(since, abs=1e-6)


async def test_who_joins_a_paused_run_sees_the_clock_of_what_is_held_stand_still() -> None:
    hub = Hub()
    hub.publish(started())
    hub.active[7] = observer = RolloutObserver(7, 0, hub, Gate(), Held())
    hub.flush()
    hub.move_gate(False)
    observer.staged(Stage.HELD)
    hub.flush()
    since = hub.state.since[7]
    late = await joined_late(hub)
    assert late.stage[7] == Stage.HELD
    assert 0.0 <= late.passed_s(7, since + 100.0) < 50.0


async def test_who_turns_to_a_rollout_late_learns_what_its_tools_took_and_how_they_failed() -> None:
    calls = [{"id": name, "name": name, "arguments": "{}"} for name in ("add", "lost", "last")]
    observer = RolloutObserver(3, 0, Hub(), Gate(), Held())
    observer.messages_added([{"role": "user", "content": "?"}])
    observer.tool_finished(
        {"id": "add", "name": "add", "ms": 900.0, "error": "ValueError: of an earlier attempt"},
        "Error",
    )
    observer.begin_attempt()
    observer.messages_added([{"role": "user", "content": "?"}])
    observer.messages_added([{"role": "assistant", "content": "", "tool_calls": calls}])
    observer.tool_finished(
        {"id": "add", "name": "add", "ms": 5.0, "error": None}, [{"type": "text", "text": "42"}]
    )
    observer.tool_finished(
        {"id": "lost", "name": "lost", "ms": 7.0, "error": "KeyError: 'x'"}, "Error: 'x'"
    )
    rollout = Rollout(3)
    for event in observer.events_so_far():
        rollout.apply(event)
    uses = [entry.tool for entry in rollout.entries() if entry.tool]
    assert [(use.name, use.ms, use.error, use.result) for use in uses] == [
        ("add", 5.0, None, "42"),
        ("lost", 7.0, "KeyError: 'x'", "Error: 'x'"),
        ("last", None, None, None),
    ]


async def test_a_listener_that_does_not_read_is_to_read_again_and_the_hub_continues() -> None:
    hub, gate, held = Hub(), Gate(), Held()
    async with listening(hub) as path:
        reader, writer = await asyncio.open_unix_connection(path, limit=1000)
        await hub.somebody_listens.wait()
        hub.publish(started())
        observer = RolloutObserver(TOTAL - 1, 0, hub, gate, held)
        for row in range(TOTAL - 1):
            hub.publish(finished(row))
            if row % 1000 == 0:
                observer.staged(Stage.MODEL if row % 2000 else Stage.TOOL)
                hub.flush()
                await asyncio.sleep(0)
        observer.staged(Stage.SCORING)
        hub.flush()
        assert hub.state.finished == TOTAL - 1
        (listener,) = hub.listeners
        assert listener.unsent < 8 << 20
        reading = asyncio.create_task(read_all(reader))
        while listener.unsent:
            await asyncio.sleep(0.001)
        hub.move_gate(False)
        hub.publish(RunFinished(0, 1.0, "interrupted", 130))
        received = await reading
        writer.close()
    assert any(isinstance(event, ReadAgain) for event in received)
    assert sum(isinstance(event, RolloutFinished) for event in received) < TOTAL - 1
    last = [event for event in received if isinstance(event, RolloutStaged)][-1]
    assert (last.row, last.stage) == (TOTAL - 1, Stage.SCORING)
    assert any(isinstance(event, GateMoved) and not event.open for event in received)


async def test_a_frame_that_is_no_command_ends_only_that_connection() -> None:
    hub = Hub()
    async with listening(hub) as path:
        bad_reader, bad = await asyncio.open_unix_connection(path)
        reader, good = await asyncio.open_unix_connection(path)
        bad.write(frame(b"\xc1 garbage"))
        while not bad_reader.at_eof():
            await bad_reader.read(1000)
        good.write(frame(encode_command(Pause())))
        hub.publish(started())
        hub.publish(RunFinished(0, 1.0, "finished", 0))
        assert len(await read_all(reader)) >= 2
        bad.close()
        good.close()


@pytest.mark.slow
async def test_a_listener_that_does_not_read_learns_that_rows_were_taken_back() -> None:
    hub = Hub()
    async with listening(hub) as path:
        reader, writer = await asyncio.open_unix_connection(path, limit=1000)
        await hub.somebody_listens.wait()
        hub.publish(started())
        for row in range(TOTAL - 1):
            hub.publish(finished(row))
            if row % 1000 == 0:
                hub.flush()
        hub.publish(RowsTakenBack(0, 1.0, [finished(7)]))
        hub.flush()
        (listener,) = hub.listeners
        reading = asyncio.create_task(read_all(reader))
        while listener.unsent:
            await asyncio.sleep(0.001)
        hub.publish(RunFinished(0, 1.0, "finished", 0))
        received = await reading
        writer.close()
    (back,) = (event for event in received if isinstance(event, RowsTakenBack))
    assert [event.row for event in back.rows] == [7]
    assert not any(isinstance(event, ReadAgain) for event in received), "what it knows is not there"

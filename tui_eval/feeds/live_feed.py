"""The listener's end of the socket: events in, commands out.

Frames are put aside as they come and decoded when the screen has time for them, so that a fast
engine never makes a screen late. Finished rows from before it joined are read from the run's index;
an engine that dies without a word is noticed by its connection, and its run is closed for it. What
reads events is loaded once there are some: a screen has its feed before its first frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval import clock
from tui_eval.commands import Command, Detach, encode_command
from tui_eval.runs.layout import RunDir

if TYPE_CHECKING:
    from tui_eval.engine.transport.launcher import EngineProcess, Launch
    from tui_eval.events import Event
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.runs.index import IndexReader

ANSWERS_WITHIN_S = 5.0
"""Seconds that a listener which only looks waits for an engine."""
HANGS_UP_WITHIN_S = 1.0
"""Seconds that an engine has to read that a listener leaves."""
POLL_INTERVAL_S = 0.02
IDLE_TURNS = 5
"""Turns of the loop without a further batch after which nothing more is expected."""


class LiveFeed:
    """A run with an engine: launched here, or joined at the socket where it listens."""

    def __init__(self, launch: Launch | None = None, socket_path: str | None = None) -> None:
        self.launch = launch
        self._socket_path = socket_path
        self.engine: EngineProcess | None = None
        self._is_connected = False
        self._early: list[Command] | None = []
        self._events: deque[Event] = deque()
        self._frames: deque[bytes] = deque()
        self._index: IndexReader | None = None
        self._run: RunDir | None = None
        self._running: dict[int, RunDir] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._ended = False
        self._leaves = False
        self._hung_up = asyncio.Event()
        self._exit_code: int | None = None

    @property
    def live(self) -> bool:
        """See `Feed.live`; while its engine starts, what it is sent is kept for that."""
        return self._is_connected if self._early is None else self.launch is not None

    async def start(self) -> None:
        """Starts the engine if it is ours to start, and connects; else the run ends at once."""
        from tui_eval.engine.transport.sockets import connect
        from tui_eval.runs.outcome import failed

        path = self._socket_path
        try:
            if self.launch is not None:
                path = await asyncio.to_thread(self._start_engine, self.launch)
            assert path is not None, "either a launch or a socket path"
            reader, self._writer = await connect(path)
        except OSError as error:
            what = f"no engine answers at {path}" if path else "no engine could be started"
            self._ended = True
            self._events.append(failed(clock.now(), f"{what}: {error}"))
        else:
            self._is_connected = True
            self._reading = asyncio.create_task(self._read(reader))
        early, self._early = self._early or [], None
        for command in early:
            self.send(command)

    def _start_engine(self, launch: Launch) -> str:
        # Set on the thread: where the start is cancelled meanwhile there is an engine to end.
        self.engine = launch.start()
        return str(self.engine.socket_path)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        from tui_eval.event_frames import HEADER_BYTES

        try:
            while True:
                size = int.from_bytes(await reader.readexactly(HEADER_BYTES), "big")
                self._frames.append(await reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError):
            self._hung_up.set()
            if self._leaves:
                return  # the engine runs on
            if self.engine is not None:
                self._exit_code = await _exit_code_of(self.engine)
            self._is_connected = False

    def drain(self, most: int = 5000) -> list[Event]:
        if self._frames:
            self._decode(most)
        is_over = self._is_held or (not self._is_connected and self._reading is not None)
        if is_over and not self._frames and not self._ended:
            self._ended = True
            self._events.extend([] if self._is_held else self._unexpected_end())
        return [self._events.popleft() for _ in range(min(most, len(self._events)))]

    @property
    def _is_held(self) -> bool:
        return self.engine is not None and self.engine.is_held

    def _decode(self, most: int) -> None:
        from tui_eval.event_frames import decode_events

        while self._frames and len(self._events) < most:
            for event in decode_events(self._frames.popleft()):
                self._take(event)

    def _take(self, event: Event) -> None:
        from tui_eval import events as ev

        self._events.append(event)
        match event:
            case ev.RunFinished() | ev.Refused():
                self._ended = True
            case ev.EvaluationMoved():
                self._running.pop(event.index, None)
                if event.status == "running":
                    self._running[event.index] = RunDir(Path(event.path))
            case ev.RunMoved():
                self._open(event.path)
            case ev.RunStarted():
                self._open(event.path)
                self._read_rows()
            case ev.RowsTakenBack() if self._run is not None:  # all of the index is written again
                self._open(self._run.path)
                self._read_rows()
            case ev.ReadAgain():
                self._read_rows()

    def _open(self, path: str | Path) -> None:
        from tui_eval.runs.index import IndexReader

        self._run = RunDir(Path(path))
        self._index = IndexReader(self._run.index)

    def _read_rows(self) -> None:
        if self._index is not None:
            self._events.extend(self._index.read())

    def _unexpected_end(self) -> list[Event]:
        """The connection ended and no event said why: the engine was killed or crashed."""
        from tui_eval.events import Noticed
        from tui_eval.runs.crash_recovery import close_crashed_run
        from tui_eval.runs.outcome import lost_engine_outcome
        from tui_eval.runs.run_info import read_metadata
        from tui_eval.runs.saved_run import finished_on_disk

        now = clock.now()
        end = lost_engine_outcome(
            now,
            read_metadata(self._run) if self._run is not None else {},
            self._exit_code,
            was_stopped=self.engine is not None and self.engine.stopping,
            has_begun=bool(self._run or self._running),
        )
        if self._run is not None:
            rows: list[Event] = [*finished_on_disk(self._run)]
            if self.engine is not None:
                end = close_crashed_run(self._run, end)
            return [*rows, end]
        for run in self._running.values():
            if self.engine is not None:
                close_crashed_run(run, end)
        printed = self.engine.last_output() if self.engine and not self._running else ""
        return [Noticed(0, now, "warning", printed), end] if printed else [end]

    def send(self, command: Command) -> None:
        """See `Feed.send`; what is requested before there is a connection is sent with it."""
        from tui_eval.event_frames import frame

        if self._early is not None:
            self._early.append(command)
        elif self._is_connected and self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(encode_command(command)))
            self._leaves = self._leaves or isinstance(command, Detach)

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        from tui_eval.runs.saved_run import read_rollout

        return read_rollout(self._run, row, offset, length) if self._run else None

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        from tui_eval.runs.run_info import read_log

        return read_log(self._run.log, at, most) if self._run else (b"", 0)

    @property
    def runs(self) -> list[RunDir]:
        """Runs that the engine works on, or did when it ended, as far as it sent them."""
        return [self._run] if self._run is not None else [*self._running.values()]

    async def close(self) -> None:
        await self._take_what_has_come()
        if self._writer is not None:
            with contextlib.suppress(OSError, TimeoutError):
                await self._writer.drain()
                if self._leaves and self._writer.can_write_eof():
                    # What was sent is lost on an engine that writes to a closed connection.
                    self._writer.write_eof()
                    async with asyncio.timeout(HANGS_UP_WITHIN_S):
                        await self._hung_up.wait()
            self._writer.close()
        if self._reading is not None:
            self._reading.cancel()
        self._is_connected = False

    async def _take_what_has_come(self) -> None:
        """Waits until all that the engine has sent is received."""
        idle = 0
        while self._reading is not None and not self._reading.done() and idle < IDLE_TURNS:
            before = len(self._frames)
            await asyncio.sleep(0)
            idle = idle + 1 if len(self._frames) == before else 0

    def close_runs(self) -> None:
        """Reports the end of the runs whose end the engine had no time to report."""
        from tui_eval.runs.crash_recovery import close_if_crashed

        self._decode(sys.maxsize)
        for run in () if self._is_held else self.runs:
            close_if_crashed(run)


async def _exit_code_of(engine: EngineProcess) -> int | None:
    """Waits for the end of an engine; not in a thread, which could not be left.

    Returns:
        Its exit code; None where it is held.
    """
    while (code := engine.exit_code()) is None and not engine.is_held:
        await asyncio.sleep(POLL_INTERVAL_S)
    return code


async def look_at_engine(
    socket: str, apply: Callable[[Event], None], is_enough: Callable[[], bool]
) -> None:
    """Applies an engine's first events to a state, and leaves; at most `ANSWERS_WITHIN_S`.

    Args:
        socket: Socket of the engine.
        is_enough: Whether all is there that was wanted.
    """
    feed = LiveFeed(socket_path=socket)
    await feed.start()
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while not is_enough() and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
        while events := feed.drain():
            for event in events:
                apply(event)
    feed.send(Detach())
    await feed.close()

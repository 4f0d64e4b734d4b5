"""The listener's end of the socket: events in, commands out.

Frames are put aside as they come and decoded when the screen has time for them, so that a fast
engine never makes a screen late. A feed costs nothing before the first frame: what reads events is
loaded when it starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.commands import Command
    from tui_eval.engine.transport.launcher import EngineProcess, Launch
    from tui_eval.events import Event
    from tui_eval.feeds.received_events import ReceivedEvents
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.runs.layout import RunDir

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
        self._received: ReceivedEvents | None = None
        self._early: list[Command] | None = []
        self._is_connected = False
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
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
        from tui_eval.feeds.received_events import ReceivedEvents

        received = self._received = ReceivedEvents()
        path = self._socket_path
        try:
            if self.launch is not None:
                path = await asyncio.to_thread(self._start_engine, self.launch)
            assert path is not None, "either a launch or a socket path"
            reader, self._writer = await connect(path)
        except OSError as error:
            what = f"no engine answers at {path}" if path else "no engine could be started"
            received.fail(f"{what}: {error}")
        else:
            self._is_connected = True
            self._reading = asyncio.create_task(self._read(received, reader))
        early, self._early = self._early or [], None
        for command in early:
            self.send(command)

    def _start_engine(self, launch: Launch) -> str:
        # Set on the thread: where the start is cancelled meanwhile there is an engine to end.
        self.engine = launch.start()
        return str(self.engine.socket_path)

    async def _read(self, received: ReceivedEvents, reader: asyncio.StreamReader) -> None:
        try:
            await received.read(reader)
        except (asyncio.IncompleteReadError, OSError):
            self._hung_up.set()
            if self._leaves:
                return  # the engine runs on
            if self.engine is not None:
                self._exit_code = await _exit_code_of(self.engine)
            self._is_connected = False

    def drain(self, most: int = 5000) -> list[Event]:
        if (received := self._received) is None:
            return []
        received.decode(most)
        is_over = self._is_held or (not self._is_connected and self._reading is not None)
        if is_over and not received.frames and not received.has_end:
            received.lose_engine(self.engine, self._exit_code)
        return received.take(most)

    @property
    def _is_held(self) -> bool:
        return self.engine is not None and self.engine.is_held

    def send(self, command: Command) -> None:
        """See `Feed.send`; what is requested before there is a connection is sent with it."""
        from tui_eval.commands import Detach, encode_command
        from tui_eval.event_frames import frame

        if self._early is not None:
            self._early.append(command)
        elif self._is_connected and self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(encode_command(command)))
            self._leaves = self._leaves or isinstance(command, Detach)

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        return self._received.saved(row, offset, length) if self._received else None

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        return self._received.log(at, most) if self._received else (b"", 0)

    @property
    def runs(self) -> list[RunDir]:
        """See `ReceivedEvents.runs`."""
        return self._received.runs if self._received else []

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
            assert self._received is not None
            before = len(self._received.frames)
            await asyncio.sleep(0)
            idle = idle + 1 if len(self._received.frames) == before else 0

    def close_runs(self) -> None:
        """See `ReceivedEvents.close_runs`; those of an engine that is held stay as they are."""
        if self._received is not None and not self._is_held:
            self._received.close_runs()


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
    from tui_eval.commands import Detach

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

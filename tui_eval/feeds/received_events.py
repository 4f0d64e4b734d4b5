"""What a listener receives of an engine: frames, which become events when there is time for them.

Finished rows from before it joined are read from the run's index. An engine that ends without a
word is noticed by its connection, and a run of an engine that was started here is closed for it.
"""

from __future__ import annotations

import sys
from asyncio import StreamReader
from collections import deque
from pathlib import Path

from tui_eval import clock
from tui_eval.engine.transport.launcher import EngineProcess
from tui_eval.event_frames import HEADER_BYTES, decode_events
from tui_eval.events import (
    EvaluationMoved,
    Event,
    Noticed,
    ReadAgain,
    Refused,
    RowsTakenBack,
    RunFinished,
    RunMoved,
    RunStarted,
)
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.crash_recovery import close_crashed_run, close_if_crashed
from tui_eval.runs.index import IndexReader
from tui_eval.runs.layout import RunDir
from tui_eval.runs.outcome import failed, lost_engine_outcome
from tui_eval.runs.run_info import read_log, read_metadata
from tui_eval.runs.saved_run import finished_on_disk, read_rollout


class ReceivedEvents:
    """Frames as they come, and their events; `has_end` says whether the last one is there."""

    def __init__(self) -> None:
        self.frames: deque[bytes] = deque()
        self._run: RunDir | None = None
        self.has_end = False
        self._events: deque[Event] = deque()
        self._index: IndexReader | None = None
        self._running: dict[int, RunDir] = {}

    async def read(self, reader: StreamReader) -> None:
        """Puts frames aside; `IncompleteReadError` or `OSError` at the end of the connection."""
        while True:
            size = int.from_bytes(await reader.readexactly(HEADER_BYTES), "big")
            self.frames.append(await reader.readexactly(size))

    def decode(self, most: int) -> None:
        """Decodes frames until there are so many events, or no further frame."""
        while self.frames and len(self._events) < most:
            for event in decode_events(self.frames.popleft()):
                self._take(event)

    def take(self, most: int) -> list[Event]:
        """The next events, `most` or fewer."""
        return [self._events.popleft() for _ in range(min(most, len(self._events)))]

    def _take(self, event: Event) -> None:
        if isinstance(event, (RunFinished, Refused)):
            self.has_end = True
        self._events.append(event)
        match event:
            case EvaluationMoved():
                self._running.pop(event.index, None)
                if event.status == "running":
                    self._running[event.index] = RunDir(Path(event.path))
            case RunMoved():
                self._open(event.path)
            case RunStarted():
                self._open(event.path)
                self._read_rows()
            case RowsTakenBack() if self._run is not None:  # all of the index is written again
                self._open(self._run.path)
                self._read_rows()
            case ReadAgain():
                self._read_rows()

    def _open(self, path: str | Path) -> None:
        self._run = RunDir(Path(path))
        self._index = IndexReader(self._run.index)

    def _read_rows(self) -> None:
        if self._index is not None:
            self._events.extend(self._index.read())

    def fail(self, why: str) -> None:
        """Ends a run that no engine works on."""
        self.has_end = True
        self._events.append(failed(clock.now(), why))

    def lose_engine(self, engine: EngineProcess | None, exit_code: int | None) -> None:
        """Ends runs whose connection ended and no event said why: it was killed or crashed.

        Args:
            engine: The engine where it was started here; its runs are closed for it.
        """
        self.has_end = True
        if engine is not None and engine.is_held:
            return
        now = clock.now()
        end = lost_engine_outcome(
            now,
            read_metadata(self._run) if self._run is not None else {},
            exit_code,
            was_stopped=engine is not None and engine.stopping,
            has_begun=bool(self.runs),
        )
        if self._run is not None:
            self._events.extend(finished_on_disk(self._run))
            self._events.append(end if engine is None else close_crashed_run(self._run, end))
            return
        for run in self.runs if engine is not None else ():
            close_crashed_run(run, end)
        printed = engine.last_output() if engine and not self._running else ""
        self._events.extend([Noticed(0, now, "warning", printed), end] if printed else [end])

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """See `Feed.saved`."""
        return read_rollout(self._run, row, offset, length) if self._run else None

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        """See `Feed.log`."""
        return read_log(self._run.log, at, most) if self._run else (b"", 0)

    @property
    def runs(self) -> list[RunDir]:
        """Runs that the engine works on, or did when it ended, as far as it sent them."""
        return [self._run] if self._run is not None else [*self._running.values()]

    def close_runs(self) -> None:
        """Reports the end of the runs whose end the engine had no time to report."""
        self.decode(sys.maxsize)
        for run in self.runs:
            close_if_crashed(run)

"""Feed of a saved run: the events of a live one, read from its files by a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator

from tui_eval.events import Event, LineUnreadable, Noticed
from tui_eval.feeds.feed import NullFeed
from tui_eval.fold.run_state import line_text
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.layout import RunDir
from tui_eval.runs.replay import Replay
from tui_eval.runs.run_info import read_log
from tui_eval.runs.saved_run import read_rollout

MOST_WAITING = 5000
"""Events that are read ahead of the listener."""
WHOLE_WITHIN_S = 0.05
"""Seconds of reading within which a run is shown only with its end."""
POLL_INTERVAL_S = 0.5
"""Seconds between looks at a file that another program may extend."""
RESTS_EVERY_S = 0.01
"""Seconds between rests, which let other threads run: a rest takes as long as reading a row."""


class SavedFeed(NullFeed):
    """A run without an engine of ours: saved, or being written by another program.

    The file is read in the background, in slices of about a millisecond, and followed while it
    grows; `ReadingMoved` says how far the reading is, and `cancel` ends it.
    """

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._events: deque[Event] = deque()
        self._faults = bytearray()
        self._lines_shown: set[str] = set()
        self._log_size: int | None = None
        self._faults_in_log: int | None = None
        self._stop = threading.Event()
        self._cancelled = threading.Event()
        self._drained = threading.Event()
        self._reported = threading.Event()
        self._first: list[Event] | None = []
        """Events read before anything is shown; None from then on."""
        self._showing = threading.Lock()
        self._thread = threading.Thread(target=self._read, name="saved run", daemon=True)

    async def start(self) -> None:
        """Begins to read; comes back when the first events are there."""
        await asyncio.to_thread(self.open)

    def open(self) -> None:
        """Does what `start` does, for callers without a loop."""
        self._thread.start()
        self._reported.wait()

    def _read(self) -> None:
        replay = Replay(self._run)
        soon = threading.Timer(WHOLE_WITHIN_S, self._show_rows)
        soon.daemon = True
        soon.start()
        try:
            more = self._publish(replay.begin())
            while more and not self._stop.wait(POLL_INTERVAL_S):
                more = self._publish(replay.more())
        except OSError as error:
            text = f"the file cannot be read: {error.strerror or error}"
            self._log(text)
            self._show()
            self._events.append(Noticed(0, time.time(), "warning", text))
        finally:
            soon.cancel()
            self._show()
            replay.close()

    def _publish(self, batches: Iterator[list[Event]]) -> bool:
        """Hands over events as fast as they are taken; False once it is cancelled."""
        rested = began = time.perf_counter()
        for events in batches:
            with self._showing:
                (self._events if self._first is None else self._first).extend(events)
            for event in events:
                if isinstance(event, LineUnreadable):
                    text = line_text(event)
                    if text not in self._lines_shown:  # which it has again where it is read again
                        self._lines_shown.add(text)
                        self._log(text)
                elif isinstance(event, Noticed):
                    self._log(event.text)
            if time.perf_counter() - began > WHOLE_WITHIN_S:
                self._show_rows()
            while len(self._events) > MOST_WAITING and not self._stop.is_set():
                self._drained.clear()
                self._drained.wait(0.1)
            if self._stop.is_set() or self._cancelled.is_set():
                return False
            if time.perf_counter() - rested > RESTS_EVERY_S:
                time.sleep(0)
                rested = time.perf_counter()
        self._show()
        return True

    def _show_rows(self) -> None:
        """Shows the events read so far, if there are any beside the run's own."""
        if len(self._first or ()) > 1:
            self._show()

    def _show(self) -> None:
        """Shows the events read so far, and from now on each at once."""
        with self._showing:
            first, self._first = self._first, None
            self._events.extend(first or ())
        self._reported.set()

    def _log(self, text: str) -> None:
        self._faults += f"WARNING:reading: {text}\n".encode("utf-8", "backslashreplace")

    def drain(self, most: int = MOST_WAITING) -> list[Event]:
        events = self._events
        taken = [events.popleft() for _ in range(min(most, len(events)))]
        self._drained.set()
        return taken

    def cancel(self) -> None:
        """Ends the reading; what was read stays, and a later opening continues there."""
        self._cancelled.set()

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        return read_rollout(self._run, row, offset, length)

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        """See `Feed.log`; faults of the reading are placed at the end of the engine's log."""
        written = read_log(self._run.log, 0, 0)[1]
        if self._log_size is None or written < self._log_size:
            self._log_size, self._faults_in_log = written, None
        if written > self._log_size and self._faults_in_log is None:
            self._faults_in_log = len(self._faults)  # what is written later comes behind them
        faults = self._faults[: self._faults_in_log]
        end, size = self._log_size, written + len(faults)
        if at < end:
            return read_log(self._run.log, at, min(most, end - at))[0], size
        if at < end + len(faults):
            return bytes(faults[at - end : at - end + most]), size
        return read_log(self._run.log, at - len(faults), most)[0], size

    async def close(self) -> None:
        """Ends the reading and lets go of the files."""
        self._stop.set()
        self._drained.set()
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

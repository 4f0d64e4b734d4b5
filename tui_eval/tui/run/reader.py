"""Reads one rollout's trajectory: from events while it runs, then from disk."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from textual.cache import LRUCache

from tui_eval.fold.rollout_columns import DONE

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.feeds.feed import Feed
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout

KEPT = 16
"""Finished rollouts kept in memory, so that going back and forth reads nothing."""
AT_ONCE_S = 0.015
"""Seconds that turning to a rollout waits for it: less than a frame, so nothing blinks."""
_threads = ThreadPoolExecutor(2, "reading a rollout")


class Reader:
    """Holds the selected rollout; only that one is subscribed to."""

    def __init__(self, feed: Feed, state: RunState) -> None:
        self.feed = feed
        self.state = state
        self.row = -1
        self.rollout: Rollout | None = None
        self.unreadable = False
        self._reading = 0
        self._subscribed: int | None = None
        self._kept: LRUCache[tuple[int, int], Rollout] = LRUCache(KEPT)
        self._coming: tuple[tuple[int, int], Future[Rollout | None]] | None = None

    def open(self, row: int) -> None:
        """Turns to another row; a finished one that takes long to read waits for `read`."""
        self.row = row
        self.unreadable = False
        self.rollout = None
        if self.state.stage[row] >= DONE:
            self._subscribe(None)
            self.rollout = self._kept.get((row, self.state.offset[row]))
            if self.rollout is None:
                coming = self._read()
                with contextlib.suppress(TimeoutError):
                    self._take(coming.result(AT_ONCE_S))
        else:
            from tui_eval.fold.trajectory import Rollout

            self.rollout = Rollout(row=row)
            self._subscribe(row)

    @property
    def _is_running(self) -> bool:
        return self.rollout is not None and not self.rollout.finished

    def _subscribe(self, row: int | None) -> None:
        if row == self._subscribed:
            return
        from tui_eval.commands import Subscribe

        self._subscribed = row
        self.feed.send(Subscribe([] if row is None else [row]))

    def take(self, event: ev.Event) -> None:
        """Adds messages, tool results and text to the running rollout that they belong to."""
        import tui_eval.events as events  # the first frame needs none

        match event:
            case events.RunStarted():
                self._restart(event.reading)
            case events.RowsTakenBack():
                self._kept.clear()  # other rollouts may be where they were
                self._coming = None
                if self.row >= 0 and self.state.stage[self.row] < DONE and not self._is_running:
                    self.open(self.row)
            case events.MessagesAdded() | events.ToolFinished() | events.TextAdded():
                if self.rollout is not None and self._is_running and event.row == self.rollout.row:
                    self.rollout.apply(event)

    def _restart(self, reading: int) -> None:
        """Forgets all rows: the file was rewritten, and each is another one or gone."""
        if reading == self._reading and self.row < self.state.total:
            return
        self._reading = reading
        self._kept.clear()
        self._coming = None
        self.row = min(self.row, self.state.total - 1)
        self.rollout, self.unreadable = None, False
        if self.row >= 0:
            self.open(self.row)

    @property
    def version(self) -> tuple[int, int]:
        """Values that change with the rollout, and with the text being generated."""
        rollout = self.rollout
        if rollout is None:
            return (0, 0)
        return rollout.version, rollout.coming.version if rollout.coming is not None else -1

    @property
    def must_read(self) -> bool:
        """Whether the row has finished and its trajectory on disk was not read yet."""
        if self.row < 0 or self.unreadable or self.state.stage[self.row] < DONE:
            return False
        return self.rollout is None or self._is_running

    async def read(self) -> bool:
        """Reads the row from disk in a thread; False where it was left or is another meanwhile."""
        row, coming = self.row, self._read()
        found = await asyncio.wrap_future(coming)
        if row != self.row or self._coming is None or self._coming[1] is not coming:
            return False
        self._take(found)
        return True

    def _read(self) -> Future[Rollout | None]:
        """Begins to read the row, unless that has begun already."""
        row, state = self.row, self.state
        place = row, state.offset[row]
        if self._coming is None or self._coming[0] != place or self._coming[1].cancelled():
            if self._coming is not None:
                self._coming[1].cancel()
            self._coming = place, _threads.submit(self.feed.saved, *place, state.length[row])
        return self._coming[1]

    def _take(self, found: Rollout | None) -> None:
        self._coming = None
        self.unreadable = found is None
        if found is not None:
            self._kept[self.row, self.state.offset[self.row]] = found
            self.rollout = found
            self._subscribe(None)

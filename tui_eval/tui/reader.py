"""Which rollout is being read, and where its story comes from: events while it runs, then disk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.cache import LRUCache

from tui_eval.tui.stages import DONE

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.fold.feed import Feed
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.transcript import Rollout

KEPT = 16
"""Finished rollouts kept in memory, so that going back and forth reads nothing."""


class Reader:
    """Holds the selected rollout; one at a time is subscribed to."""

    def __init__(self, feed: Feed, state: RunState) -> None:
        self.feed = feed
        self.state = state
        self.row = -1
        self.rollout: Rollout | None = None
        self.unreadable = False
        self._subscribed: int | None = None
        self._kept: LRUCache[tuple[int, int], Rollout] = LRUCache(KEPT)

    def open(self, row: int) -> None:
        """Turns to another row; a finished one that is not in memory waits for `read`."""
        self.row = row
        self.unreadable = False
        self.rollout = None
        if self.state.stage[row] >= DONE:
            self._subscribe(None)
            self.rollout = self._kept.get((row, self.state.offset[row]))
        else:
            from tui_eval.fold.transcript import Rollout

            self.rollout = Rollout(row=row)
            self._subscribe(row)

    def _subscribe(self, row: int | None) -> None:
        if row == self._subscribed:
            return
        from tui_eval.events import Subscribe

        self._subscribed = row
        self.feed.send(Subscribe([] if row is None else [row]))

    def take(self, event: ev.Event) -> None:
        """Adds messages and tool results to the running rollout that they belong to."""
        if type(event).__name__ not in ("MessagesAdded", "ToolFinished"):
            return
        rollout = self.rollout
        if rollout is not None and not rollout.finished and event.row == rollout.row:  # type: ignore[union-attr]
            rollout.apply(event)  # type: ignore[arg-type]

    @property
    def must_read(self) -> bool:
        """Whether the row has finished and its story on disk was not read yet."""
        if self.row < 0 or self.unreadable or self.state.stage[self.row] < DONE:
            return False
        return self.rollout is None or not self.rollout.finished

    async def read(self) -> bool:
        """Reads the row from disk in a thread; False where it was left meanwhile."""
        row, state = self.row, self.state
        offset, length = state.offset[row], state.length[row]
        found = await asyncio.to_thread(self.feed.saved, row, offset, length)
        if found is not None:
            self._kept[row, offset] = found
        if row != self.row:
            return False
        self.unreadable = found is None
        if found is not None:
            self.rollout = found
            self._subscribe(None)
        return True

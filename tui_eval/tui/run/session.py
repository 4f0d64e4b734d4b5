"""A run on the screen: its feed, its fold, its reader, and its status."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_eval import clock
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.text.stages import is_running
from tui_eval.tui.run.reader import Reader

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.feeds.feed import Feed
    from tui_eval.tui.run.screen import RunScreen

BATCH = 500
"""Events folded between two looks at the clock."""
DWELL_S = 1.5
"""Seconds that a finished rollout stays on screen before the next is shown."""


class Follower:
    """Watches a rollout to its end, then goes to the one that began last.

    While it is off it counts the rollouts that finish, so that people know what they miss.
    """

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.on = True
        self._active: deque[int] = deque(maxlen=256)
        self._left_at = 0
        self._ended_at: float | None = None

    def take(self, event: ev.Event) -> None:
        """Notes which rollouts are active."""
        from tui_eval.events import RolloutStaged  # the first frame needs none

        if isinstance(event, RolloutStaged):
            self._active.append(event.row)

    def switch(self, on: bool) -> None:
        """Switches following on or off."""
        if on != self.on:
            self.on = on
            self._left_at = self.state.finished
            self._ended_at = None

    @property
    def missed(self) -> int:
        """Rollouts that finished since following was switched off."""
        return 0 if self.on else max(self.state.finished - self._left_at, 0)

    def newest(self) -> int | None:
        """The running rollout that was active last, or the first running one, or None."""
        stage = self.state.stage
        for row in reversed(self._active):
            if is_running(stage[row]):
                return row
        if not self.state.running:
            return None
        return next((row for row, value in enumerate(stage) if is_running(value)), None)

    def wanted(self, row: int, now: float) -> int | None:
        """The row to go to from this one; None to stay."""
        if not self.on or row >= self.state.total or is_running(self.state.stage[row]):
            self._ended_at = None
            return None
        if self.state.stage[row] >= DONE:
            if self._ended_at is None:
                self._ended_at = now
            if now - self._ended_at < DWELL_S:
                return None
        newest = self.newest()
        if newest is not None:
            self._ended_at = None
        return newest


class RunSession:
    """One run with its feed; it keeps the reading position while another one is shown."""

    def __init__(self, feed: Feed, state: RunState | None = None) -> None:
        self.feed = feed
        self.state = RunState() if state is None else state
        self.reader = Reader(feed, self.state)
        self.follower = Follower(self.state)

    def fold(self, deadline: float, then: Callable[[ev.Event], None]) -> bool:
        """Folds new events; returns whether all of them were.

        Args:
            deadline: Time of `time.perf_counter` after which the rest is left for later.
            then: Called with every event once it is folded.
        """
        while events := self.feed.drain(BATCH):
            for event in events:
                self.state.apply(event)
                self.follower.take(event)
                self.reader.take(event)
                then(event)
            if time.perf_counter() > deadline:
                return len(events) < BATCH  # the next tick folds the events that came meanwhile
        return True


class RunStatus:
    """The status of the run on a screen: whether an engine works on it, and what is saved."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    @property
    def _state(self) -> RunState:
        return self._screen.state

    @property
    def is_live(self) -> bool:
        """Whether an engine is at work on the run that is shown."""
        return self._screen.feed.live and self._state.end is None

    @property
    def at_work(self) -> bool:
        """Whether an engine is at work that gets the root's commands."""
        return self._screen.root.live and self._screen.whole.end is None

    @property
    def max_concurrent(self) -> int | None:
        """The maximum of rollouts, of all at the root; 0 for no limit, None while unknown."""
        return self._state.run.max_concurrent if self._state.run is not None else None

    @property
    def is_finishing(self) -> bool:
        """Whether all is done and the engine has not said so yet."""
        return 0 < self._state.total == self._state.finished

    @property
    def is_saved(self) -> bool:
        """Whether the run stays on disk without further saving."""
        kept, run = self._screen.saving.copied and not self.is_live, self._state.run
        return kept or run is None or run.saved

    @property
    def on_disk(self) -> str:
        """A sentence on how much of it is on disk."""
        if not self._state.total:
            return "It is just beginning: how much is on disk is not known yet."
        return f"{self._state.finished:,} of {self._state.total:,} rollouts are on disk."

    def why_not(self, to: str) -> str:
        """The reason why the engine takes no command; empty where it does."""
        if self.is_live:
            return ""
        if self._state.run is None:
            return f"There is no run yet: there is nothing to {to}."
        if self._state.end is None:
            return "Another process writes this run: it can only be read."
        return f"The run has ended: there is nothing to {to}."


async def begin(feed: Feed, state: RunState) -> bool:
    """Starts a feed; False where the run cannot be read, which fails it with the reason."""
    try:
        await feed.start()
    except (OSError, ValueError) as error:
        from tui_eval.runs.outcome import unreadable

        state.apply(unreadable(clock.now(), error))
        return False
    return True

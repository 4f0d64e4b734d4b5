"""Which rollout to watch while the screen moves by itself."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from tui_eval.fold.rollout_columns import DONE
from tui_eval.text.stages import is_running

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.fold.run_state import RunState

DWELL_S = 1.5
"""How long a finished rollout stays on screen before the next is shown."""


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
        if type(event).__name__ == "RolloutStaged":
            self._active.append(event.row)  # type: ignore[union-attr]

    def switch(self, on: bool) -> None:
        """Follows, or stays where people put the view."""
        if on != self.on:
            self.on = on
            self._left_at = self.state.finished
            self._ended_at = None

    @property
    def missed(self) -> int:
        """Rollouts that finished since following was switched off."""
        return 0 if self.on else max(self.state.finished - self._left_at, 0)

    def newest(self) -> int | None:
        """A running rollout that did something lately, or the first running one, or None."""
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

"""How a run that is shown stands: whether an engine works on it, and what of it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState
    from tui_eval.tui.run.screen import RunScreen


class RunStatus:
    """Of the run on a screen."""

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
        """Whether an engine is at work that the root's commands would reach."""
        return self.is_live

    @property
    def max_concurrent(self) -> int | None:
        """Rollouts in flight at most, of all that the root works on; 0 for no limit.

        None where it is not known yet.
        """
        return self._state.run.max_concurrent if self._state.run is not None else None

    @property
    def is_gate_open(self) -> bool:
        """Whether the engine begins rollouts: it does not while it pauses."""
        return self._state.gate_open

    @property
    def is_finishing(self) -> bool:
        """Whether all is done and the engine has not said so yet."""
        return 0 < self._state.total == self._state.finished

    @property
    def is_saved(self) -> bool:
        """Whether the run is kept without being asked for, as the caller or the run itself says."""
        kept, run = self._screen.saving.copied and not self.is_live, self._state.run
        return kept or (self._screen.saved and (run is None or run.saved))

    @property
    def on_disk(self) -> str:
        """How much of it is kept, as a sentence."""
        if not self._state.total:
            return "It is just beginning: how much is on disk is not known yet."
        return f"{self._state.finished:,} of {self._state.total:,} rollouts are on disk."

    def why_not(self, to: str) -> str:
        """Why the engine cannot be asked for something; empty where it can."""
        if self.is_live:
            return ""
        if self._state.run is None:
            return f"There is no run yet: there is nothing to {to}."
        if self._state.end is None:
            return "Another process writes this run: it can only be read."
        return f"The run has ended: there is nothing to {to}."

"""A generated rollout as it was before it was scored, to be scored again."""

from __future__ import annotations

from typing import Any

from tui_eval.state import State

_SETTLED = ("reward", "advantage")
"""What scoring gives to the steps that have none."""


class Unscored:
    """A rollout without an error that is about to be scored.

    Args:
        state: Of the rollout; what is restored is changed in it.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._open: list[tuple[dict[str, Any], str]] = [
            (step, key)
            for step in state.get("trajectory") or ()
            for key in _SETTLED
            if step.get(key) is None
        ]

    def restore(self) -> None:
        """Takes back what scoring has left, but what reward functions kept for themselves."""
        self.state["error"] = None
        self.state.failed_at = self.state.metric_error = None
        for step, key in self._open:
            step[key] = None


def fault_of(state: State) -> Any:
    """What went wrong with a rollout: its error, or that of a metric that counts nothing."""
    error = state.get("error")
    return state.metric_error if error is None else error

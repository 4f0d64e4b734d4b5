"""What holds a run up, beside the numbers of its header."""

from __future__ import annotations

from tui_eval.fold.run_state import RunState
from tui_eval.text.figures import clock_text, plural
from tui_eval.text.waits import LONG_S, longest_wait
from tui_eval.tui.base.look.ink import EMPTY, Line


class LongestWait:
    """Seconds for which the rollout has waited that waits longest.

    All that are in flight are looked at for it: once a second, and where their number changes.
    """

    def __init__(self) -> None:
        self._key = (0, 0)
        self._seconds = 0.0

    def of(self, state: RunState, now: float) -> float:
        """Those of a run."""
        key = (int(now), state.running)
        if key != self._key:
            self._key, self._seconds = key, longest_wait(state, now)
        return self._seconds


def holds_up(state: RunState, longest: float, words: int) -> Line:
    """That workers stand still, that replicas are out, or that a rollout waits for long.

    Args:
        longest: Seconds for which the rollout has waited that waits longest.
        words: As the header has them: 1 and 0 for signs only.
    """
    if state.end is not None:
        return EMPTY
    seen = state.workers.workers if state.workers is not None else ()
    if still := sum(bool(one.still_since) for one in seen):
        stands = "stands still" if still == 1 else "stand still"
        return ((f"! {plural(still, 'worker')} {stands}" if words else "!worker", "warn"),)
    if out := len(state.out):
        return ((f"! {plural(out, 'replica')} out" if words else f"!{out} out", "warn"),)
    if longest < LONG_S:
        return EMPTY
    return ((f"longest wait {clock_text(longest)}" if words > 1 else clock_text(longest), "warn"),)

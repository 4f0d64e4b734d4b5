"""Why rollouts wait to be tried again, now and then as a plain line."""

from __future__ import annotations

import time

from tui_eval import clock
from tui_eval.printable import one_line
from tui_eval.text.figures import again_text, plural

FIRST_AFTER_S = 3.0
"""Seconds without a word after which the first line may come: a blip is not worth one."""

EVERY_AT_MOST_S = 30.0
CAUSE_WIDTH = 120


class WaitingLines:
    """Makes a line where something new happened; less often the more there were."""

    def __init__(self) -> None:
        self._pause = FIRST_AFTER_S
        self._said_at = time.monotonic()
        self._said = (0, 0.0)

    def something_said(self) -> None:
        """Another line reported how far the run is: there is no hurry for one more."""
        self._said_at = time.monotonic()

    def line(self, sleeping: int, cause: str, again_at: float) -> str | None:
        """What there is to say now.

        Args:
            sleeping: Rollouts that wait to be tried again.
            cause: Why the last of them does.
            again_at: Unix seconds of the next try.
        """
        now = time.monotonic()
        if not sleeping or (sleeping, again_at) == self._said or now - self._said_at < self._pause:
            return None
        self._said, self._said_at = (sleeping, again_at), now
        self._pause = min(2 * self._pause, EVERY_AT_MOST_S)
        again = again_text(again_at - clock.now())
        return (
            f"Waiting to try again: {plural(sleeping, 'rollout')}; "
            f"last cause: {one_line(cause, CAUSE_WIDTH)}; next try {again}"
        )

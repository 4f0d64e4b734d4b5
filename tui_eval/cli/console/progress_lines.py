"""Lines on progress, on what waits, and on errors: when each is printed, and how."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from tui_eval import clock
from tui_eval.cli.console.printing import warn
from tui_eval.events import WritingMoved
from tui_eval.fold.error_place import place_of
from tui_eval.fold.trajectory import Rollout
from tui_eval.printable import one_line
from tui_eval.text.figures import again_text, plural, refusal_text

FIRST_WAIT_AFTER_S = 3.0
"""Seconds of silence before the first line: a blip is not worth one."""

EVERY_AT_MOST_S = 30.0
STEPS = 10
"""Lines on progress from the first rollout to the last."""
CAUSE_WIDTH = 120


class ProgressLines:
    """Decides when a line is printed; for waiting rollouts ever less often."""

    def __init__(self) -> None:
        self._step = 0
        self._progress_at = time.monotonic()
        self._pause = FIRST_WAIT_AFTER_S
        self._shown_at = time.monotonic()
        self._shown = (0, 0.0)

    def is_due(self, finished: int, total: int) -> bool:
        """Whether a progress line is due: each tenth, and every half minute."""
        step = finished * STEPS // total if total else 0
        now = time.monotonic()
        if step <= self._step and not (finished and now - self._progress_at > EVERY_AT_MOST_S):
            return False
        self._step, self._progress_at, self._shown_at = step, now, now
        return True

    def waiting_line(self, sleeping: int, cause: str, again_at: float) -> str | None:
        """The line to print now, if any.

        Args:
            sleeping: Rollouts that wait to be tried again.
            cause: Why the last of them does.
            again_at: Unix seconds of the next try.
        """
        now = time.monotonic()
        waits = now - self._shown_at < self._pause
        if not sleeping or (sleeping, again_at) == self._shown or waits:
            return None
        self._shown, self._shown_at = (sleeping, again_at), now
        self._pause = min(2 * self._pause, EVERY_AT_MOST_S)
        again = again_text(again_at - clock.now())
        return (
            f"Waiting to try again: {plural(sleeping, 'rollout')}; "
            f"last cause: {one_line(cause, CAUSE_WIDTH)}; next try {again}"
        )

    def refusal_line(self, refusal: WritingMoved) -> str | None:
        """A line on what waits for the disk, every half minute at most."""
        now = time.monotonic()
        if now - self._shown_at < EVERY_AT_MOST_S:
            return None
        self._shown_at = now
        what = refusal_text(refusal.path, refusal.why, refusal.rows, refusal.records)
        return f"Waiting for the disk: {what}"


OF_A_KIND = 3
WIDTH = 1000
"""Longest printed error, in characters; its row has all of it."""


class ErrorLines:
    """Printer of errors; counts them over all its runs."""

    def __init__(self) -> None:
        self._reported: Counter[str] = Counter()

    def print(self, kind: str, whose: str, env_id: str, read: Callable[[], Rollout | None]) -> None:
        """Prints an error, unless a few of its kind were printed.

        Args:
            kind: The names of the exceptions.
            whose: Name of the rollout.
            env_id: Name of its environment.
            read: Reads the rollout.
        """
        self._reported[kind] += 1
        if self._reported[kind] > OF_A_KIND:
            return
        rollout = read()
        text = one_line((rollout.error if rollout else None) or kind, WIDTH)
        place = place_of((rollout.traceback if rollout else None) or "", env_id)
        warn(f"error: {whose}: {text}" + (f" ({place})" if place else ""))
        if self._reported[kind] == OF_A_KIND:
            warn(f"error: further {kind} are counted and not printed")

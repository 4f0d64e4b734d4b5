"""Errors of rollouts as plain lines: of each kind a few, with the place in people's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tui_eval.cli.report import warn
from tui_eval.fold.error_place import place_of
from tui_eval.fold.trajectory import Rollout
from tui_eval.printable import one_line

OF_A_KIND = 3
WIDTH = 1000
"""Characters of one error at most; its row has all of it."""


class ErrorLines:
    """Prints errors; counts them over all its runs."""

    def __init__(self) -> None:
        self._told: Counter[str] = Counter()

    def print(self, kind: str, whose: str, env_id: str, read: Callable[[], Rollout | None]) -> None:
        """Prints an error, unless there were a few of its kind.

        Args:
            kind: The names of the exceptions.
            whose: Which rollout it is.
            env_id: Name of its environment.
            read: Reads the rollout.
        """
        self._told[kind] += 1
        if self._told[kind] > OF_A_KIND:
            return
        rollout = read()
        text = one_line((rollout.error if rollout else None) or kind, WIDTH)
        place = place_of((rollout.traceback if rollout else None) or "", env_id)
        warn(f"error: {whose}: {text}" + (f" ({place})" if place else ""))
        if self._told[kind] == OF_A_KIND:
            warn(f"error: further {kind} are counted and not printed")

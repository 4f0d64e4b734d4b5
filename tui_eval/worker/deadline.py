"""How long a rollout may be generated; the time that it is held is not counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tui_eval.call_limits import uncounted
from tui_eval.deadline import Deadline
from tui_eval.errors import CancelledByUserError, Error, RolloutTimeoutError


class RolloutDeadline(Deadline):
    """That of one rollout; `expired` says also that somebody cut it short.

    Args:
        seconds: What it may take; None for any time.
    """

    ends_with = (asyncio.CancelledError, RolloutTimeoutError, CancelledByUserError)

    def __init__(self, seconds: float | None) -> None:
        super().__init__(seconds)
        self._cut: Error | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Around time that does not count, for a call of people's code that it is in neither."""
        with super().held(), uncounted():
            yield

    def check(self) -> None:
        """Ends a rollout whose code went on although it was cancelled.

        Raises:
            Error: The time is up, or the rollout was cut short.
        """
        if self.expired:
            raise self.error()

    def cut(self, error: CancelledByUserError) -> bool:
        """Ends the block now, with this error; False where it has ended or is about to."""
        if self._task is None or self.expired:
            return False
        self._cut = error
        self._pause()
        self._end()
        return True

    def error(self) -> Error:
        """What became of the rollout."""
        if self._cut is not None:
            return self._cut
        return RolloutTimeoutError(f"The rollout took longer than {self.seconds:g} s (--timeout)")

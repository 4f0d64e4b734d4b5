"""How long a rollout may be generated; the time that it is held is not counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from tui_eval.errors import CancelledByUserError, Error, RolloutTimeoutError


class Deadline:
    """Cancels what runs in its block once the time is up, and ends that cancellation there.

    `expired` says afterwards whether it did, or whether somebody cut the block short.

    Args:
        seconds: What the block may take; None for any time.
    """

    def __init__(self, seconds: float | None) -> None:
        self.expired = False
        self._cut: Error | None = None
        self._seconds = seconds
        self._left = seconds or 0.0
        self._holds = 0
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> Deadline:
        self._task = asyncio.current_task()
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._pause()
        # The task's own context leads here: a task that was kept would hold itself alive, and
        # every rollout with it until a garbage collection.
        task, self._task = self._task, None
        if not self.expired or task is None:
            return False
        others = task.uncancel()
        ends = (asyncio.CancelledError, RolloutTimeoutError, CancelledByUserError)
        return isinstance(error, ends) and not others

    @contextmanager
    def held(self) -> Iterator[None]:
        """Around time that does not count."""
        self._holds += 1
        self._pause()
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                self._start()

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
        self._expire()
        return True

    def error(self) -> Error:
        """What became of the rollout."""
        if self._cut is not None:
            return self._cut
        return RolloutTimeoutError(f"The rollout took longer than {self._seconds:g} s (--timeout)")

    def _start(self) -> None:
        if self._seconds is None or self._task is None or self.expired:
            return
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._timer = loop.call_later(self._left, self._expire)

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left = max(self._left - (asyncio.get_running_loop().time() - self._began), 0.0)

    def _expire(self) -> None:
        self._timer = None
        self.expired = True
        if self._task is not None:
            self._task.cancel()

"""A block of code that is cancelled once its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import ClassVar, Self


class Deadline:
    """Cancels what runs in its block once the time is up, and ends that cancellation there.

    `expired` says afterwards whether it did.

    Args:
        seconds: What the block may take; None for any time.
    """

    ends_with: ClassVar[tuple[type[BaseException], ...]] = (asyncio.CancelledError,)
    """What a cancelled block may raise, which goes no further."""

    def __init__(self, seconds: float | None) -> None:
        self.expired = False
        self.seconds = seconds
        self._left = seconds or 0.0
        self._holds = 0
        self._began = self._lost_before = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> Self:
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
        return isinstance(error, self.ends_with) and not others

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

    def _start(self) -> None:
        if self.seconds is None or self._task is None or self.expired:
            return
        loop = asyncio.get_running_loop()
        self._began, self._lost_before = loop.time(), self._lost_s()
        self._timer = loop.call_later(self._left, self._expire)

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            passed = asyncio.get_running_loop().time() - self._began
            self._left = max(self._left - passed + self._lost(), 0.0)

    def _lost_s(self) -> float:
        """Seconds until now that do not count though nobody holds it."""
        return 0.0

    def _lost(self) -> float:
        """Of those, what it lost since it runs."""
        return max(self._lost_s() - self._lost_before, 0.0)

    def _expire(self) -> None:
        self._timer = None
        if (lost := self._lost()) > 0:
            self._left = lost
            self._start()
            return
        self._end()

    def _end(self) -> None:
        """Cancels what runs in the block."""
        self.expired = True
        if self._task is not None:
            self._task.cancel()

"""Time limits of requests: one timer looks at all of them.

A timer for each is made, sorted in and cancelled again at every model call, which takes 3 % of a
rollout's CPU time. Long limits end up to a second late, as those of aiohttp do.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

LOOKS_EVERY_S = 1.0
SHORT_S = 5.0
"""A limit up to this has a timer of its own, and ends in time."""


class TimeLimits:
    """The time limits of one event loop's requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open: dict[TimeLimit, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def of(self, seconds: float) -> TimeLimit:
        """The limit of a block, which is ended by a `TimeoutError` once it takes longer."""
        return TimeLimit(self, seconds)

    def begin(self, limit: TimeLimit, seconds: float) -> asyncio.TimerHandle | None:
        """Begins one; returns the timer of a short one."""
        if seconds <= SHORT_S:
            return self._loop.call_later(seconds, limit.expire)
        limit.ends_at = self._loop.time() + seconds
        self._open[limit] = None
        if self._timer is None:
            self._timer = self._loop.call_later(LOOKS_EVERY_S, self._look)
        return None

    def end(self, limit: TimeLimit) -> None:
        """Ends one."""
        self._open.pop(limit, None)

    def _look(self) -> None:
        now = self._loop.time()
        for limit in [one for one in self._open if one.ends_at <= now]:
            self.end(limit)
            limit.expire()
        self._timer = self._loop.call_later(LOOKS_EVERY_S, self._look) if self._open else None


class TimeLimit:
    """One limit, as a context: its time begins where it is entered."""

    __slots__ = (
        "_cancelled_before",
        "_is_over",
        "_limits",
        "_seconds",
        "_task",
        "_timer",
        "ends_at",
    )

    def __init__(self, limits: TimeLimits, seconds: float) -> None:
        self._limits = limits
        self._seconds = seconds
        self._task: asyncio.Task[Any] | None = None
        self._cancelled_before = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False
        self.ends_at = 0.0

    def __enter__(self) -> None:
        task = self._task = asyncio.current_task()
        assert task is not None, "requests are made in tasks"
        self._cancelled_before = task.cancelling()
        self._timer = self._limits.begin(self, self._seconds)

    def expire(self) -> None:
        """Ends the block."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A task that was kept would hold itself alive, by its context.
        task, self._task = self._task, None
        if self._timer is not None:
            self._timer.cancel()
        else:
            self._limits.end(self)
        if not self._is_over or task is None:
            return
        is_ours = task.uncancel() <= self._cancelled_before
        if is_ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

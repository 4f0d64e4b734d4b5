"""A block of code that is cancelled once its time is up, and time that does not count for it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import ClassVar, Self


class Deadline:
    """Cancels what runs in its block once the time is up, and ends that cancellation there.

    `expired` says afterwards whether it did.

    Args:
        seconds: Limit of the block; None for any time.
    """

    ends_with: ClassVar[tuple[type[BaseException], ...]] = (asyncio.CancelledError,)
    """Exceptions of a cancelled block, which are not propagated."""

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

    def give_back(self, seconds: float) -> None:
        """Leaves out time that has passed, and turned out not to count."""
        self._pause()
        self._left += seconds
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
        """The part of those that it lost since it runs."""
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


BEATS_EVERY_S = 0.1
STALL_S = 0.3
"""Between two beats; less is what any busy loop takes."""


class LoopPulse:
    """The time that one event loop was blocked, as nothing that ran on it gave it back.

    It beats as long as somebody uses it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._last = loop.time()
        self._still_s = 0.0
        self._still_of: dict[int, float] = {}
        self._running = -1
        self._users = 0
        self._beats = False

    def begin(self) -> None:
        """One more uses it."""
        self._users += 1
        if not self._beats:
            self._beats = True
            self._last = asyncio.get_running_loop().time()
            self._beat()

    def end(self) -> None:
        """Removes one of its users."""
        self._users -= 1

    def runs(self, who: int) -> None:
        """Names the one whose code may hold the loop from now on."""
        self.still_s()
        self._running = who

    def forget(self, who: int) -> None:
        """One has no code any more."""
        self._still_of.pop(who, None)

    def still_of(self, who: int) -> float:
        """Seconds of those in which one's own code held the loop."""
        return self._still_of.get(who, 0.0)

    def still_s(self) -> float:
        """Seconds in which the loop stood still until now, since it was used first."""
        loop = self._loop()
        now = self._last if loop is None else loop.time()
        passed, self._last = now - self._last, now
        if passed > STALL_S:
            self._still_s += passed
            self._still_of[self._running] = self.still_of(self._running) + passed
        return self._still_s

    def _beat(self) -> None:
        self._beats = self._users > 0
        self.still_s()
        if self._beats:
            asyncio.get_running_loop().call_later(BEATS_EVERY_S, self._beat)


_PULSES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopPulse] = (
    weakref.WeakKeyDictionary()
)


def pulse_of(loop: asyncio.AbstractEventLoop) -> LoopPulse:
    """The pulse of an event loop."""
    pulse = _PULSES.get(loop)
    if pulse is None:
        pulse = _PULSES[loop] = LoopPulse(loop)
    return pulse

"""Timers: the ticks of an app, and calls after a while.

An app ticks often while there are events, and hardly ever at rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from textual.message_pump import MessagePump

RESTS_AFTER_S = 3.0
"""Seconds of frequent ticks after the last event or key."""
QUIET_S = 0.25
"""Seconds between ticks while an engine is at work without events."""
REST_S = 1.0
"""Seconds between ticks while nothing is at work."""


class Ticking:
    """A clock that slows down where nothing happens.

    Args:
        call: Calls each tick, in its turn.
        every_s: Seconds between two ticks while there are events.
        tick: Handles events; returns a value that changes with them.
        is_at_work: Whether events may come at any moment.
    """

    def __init__(
        self,
        call: Callable[[Callable[[], None]], object],
        every_s: float,
        tick: Callable[[], Hashable],
        is_at_work: Callable[[], bool],
    ) -> None:
        self._call, self._every_s = call, every_s
        self._tick, self._is_at_work = tick, is_at_work
        self._seen: Hashable = None
        self._rests_at = 0.0
        self._next: asyncio.TimerHandle | None = None
        """The tick that is due next, or is at work; none before the start and after the end."""

    def wake(self) -> None:
        """Ticks soon, after a key."""
        now = self._stay_awake()
        if self._next is not None and self._next.when() > now + self._every_s:
            self._schedule(self._every_s)

    def start(self) -> None:
        self._stay_awake()
        self._schedule(self._every_s)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _stay_awake(self) -> float:
        now = asyncio.get_running_loop().time()
        self._rests_at = now + RESTS_AFTER_S
        return now

    def _schedule(self, seconds: float) -> None:
        self.stop()
        self._next = asyncio.get_running_loop().call_later(seconds, self._call, self._do)

    def _do(self) -> None:
        seen = self._tick() if self._next is not None else None
        if self._next is None:
            return  # it was due already, or it was the last one
        if seen != self._seen:
            self._seen = seen
            self._stay_awake()
        is_at_rest = asyncio.get_running_loop().time() >= self._rests_at
        slow_s = QUIET_S if self._is_at_work() else REST_S
        self._schedule(max(self._every_s, slow_s) if is_at_rest else self._every_s)


def after(seconds: float, target: MessagePump, do: Callable[[], object]) -> None:
    """Has a widget, a screen or an app do something after so many seconds.

    A timer of Textual that runs once never does where its thread is held up for so long just when
    it begins: it takes its only turn for one that was missed.
    """
    asyncio.get_running_loop().call_later(seconds, target.call_later, do)

"""How long an event loop stood still, as nothing that ran on it gave it back."""

from __future__ import annotations

import asyncio
import weakref

BEATS_EVERY_S = 0.1
STANDS_STILL_S = 0.3
"""Between two beats; less is what any busy loop takes."""


class LoopPulse:
    """The pulse of one event loop; it beats as long as somebody uses it."""

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
        """One does no longer."""
        self._users -= 1

    def runs(self, who: int) -> None:
        """From now on it is this one's code that may hold the loop."""
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
        if passed > STANDS_STILL_S:
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

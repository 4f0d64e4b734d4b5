"""The pace of one endpoint: when the next request may go there, once some were refused.

A refusal that names a time is the endpoint's word for everybody: until then nobody sends. What
follows is spaced, at the rate that was let through between the last two refusals. That rate is
exact for a bucket of tokens, which is empty at both, and near enough for a window. It grows while
nothing is refused, slowly at first and then faster and faster, so that neither a guess that was too
low nor an endpoint's recovery goes unnoticed for longer than a minute.

How many rollouts are generated concurrently gives way beside it (`engine.limits.adaptive`): that
finds what an endpoint serves which counts requests in flight, or refuses without naming a time.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from weakref import WeakKeyDictionary, WeakValueDictionary

now = time.monotonic
sleep = asyncio.sleep

STEP_S = 0.5
"""The rate grows with each step: so many seconds, or one request where that takes longer."""
GROWS_BY = 0.01
MOST_STEPS, LEAST_STEPS = 40.0, 6.0
"""After so many steps it is three times what was learnt: fewer, where that was of few requests, or
of a time that was silent for the most part, in which more might have been let through."""
GUESS_GROWS_BY = 1 / 2
"""The growth of its rate with each request while nothing was learnt yet."""
GUESS_OVER_S = 5.0
"""A first guess lets all through who wait, over the time that was requested; at most over this."""
MANY = 30
KEPT = 0.7
"""Where `MANY` were let through, an endpoint may have had them in store while all were silent: the
mean is too low then. No less is kept of the last rate, and a first guess is corrected half-way."""
SLOWEST = 1 / 60
JITTER = 0.1
CATCHES_UP_S = 0.1
"""Turns that nobody took at their time, as the loop was busy, are taken for so long."""
GAP_S = 60.0
"""Seconds after its wait in which a refusal still counts: no request may have come since."""


class Pace:
    """The turns of the requests to one endpoint; all are let through until one is refused.

    `is_limited` says whether one was, `waiting` how many requests wait for their turn, and
    `reason` why.

    Args:
        patience: Seconds for which an endpoint may refuse everything until it is given up.
    """

    def __init__(self, patience: float = 900.0) -> None:
        self.is_limited = False
        self.waiting = 0
        self.reason = ""
        self.patience = patience
        self._refusing_s = self._refused_at = self._requested = 0.0
        self._rate = math.inf
        self._guess_over: float | None = None
        self._steps = LEAST_STEPS
        self._since = self._noticed_at = self._next_at = -math.inf
        self._sent = 0
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    @property
    def is_given_up(self) -> bool:
        """Whether nothing was let through for so long that no request is tried again."""
        return self._refusing_s > self.patience

    @property
    def expected_s(self) -> float:
        """About how many seconds a request that comes now waits for its turn."""
        if self.is_given_up:
            return 0.0
        return max(self._next_at - now(), 0.0) + self.waiting * self._interval(now())

    def let_through(self) -> None:
        """A request was answered."""
        self._refusing_s = 0.0

    def refuse(self, sent_at: float, requested: float | None, reason: str) -> None:
        """A request was refused.

        Args:
            sent_at: When it was sent; one from before the last refusal was known teaches no more.
            requested: Seconds of wait that the endpoint requests; None where it says nothing.
        """
        at = now()
        self._count(at, requested or 0.0)
        self.is_limited, self.reason = True, reason
        if requested is None:
            return
        until = at + requested
        if math.isinf(self._rate) and self._guess_over is None:
            self._guess_over = min(requested, GUESS_OVER_S)
        elif sent_at < self._noticed_at:
            self._next_at = max(self._next_at, until)
            return
        else:
            self._learn(at, until)
        self._since, self._noticed_at, self._sent = until, at, 0
        self._next_at = max(self._next_at, until)

    def _count(self, at: float, requested: float) -> None:
        if self._refusing_s:
            self._refusing_s += min(at - self._refused_at, self._requested + GAP_S)
        else:
            self._refusing_s = 1e-9
        self._refused_at, self._requested = at, requested

    def _learn(self, at: float, until: float) -> None:
        served = self._sent - 1
        mean = served / max(until - self._since, 1e-3)
        if served < 1:
            self._rate = max(self._rate / 2, SLOWEST)
        elif served < MANY:
            self._rate = mean
        elif self._guess_over is not None:
            self._rate = math.sqrt(mean * served / max(at - self._since, 1e-3))
        else:
            self._rate = max(mean, KEPT / self._interval(at))
        silent = (self._since - self._noticed_at) / max(at - self._noticed_at, 1e-3)
        self._steps = max(min(2.0 * served, MOST_STEPS) * (1 - min(silent, 1.0)), LEAST_STEPS)
        self._guess_over = None

    def _interval(self, at: float) -> float:
        """Seconds between two requests, as it is now."""
        if math.isinf(self._rate):
            return 0.0
        if self._guess_over is not None:
            return 1 / self._rate
        steps = max(at - self._since, 0.0) / max(STEP_S, 1 / self._rate)
        return math.exp(-min(GROWS_BY * steps + (steps / self._steps) ** 2, 20.0)) / self._rate

    async def turn(self) -> None:
        """Returns when a request may be sent, in the order in which they came."""
        self.waiting += 1
        try:
            async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                until = -math.inf
                while until < self._next_at and not self.is_given_up:
                    until = self._next_at  # which another refusal may put off meanwhile
                    if (wait := until - now()) > 0:
                        await sleep(wait)
                if not self.is_given_up:
                    self._take()
        finally:
            self.waiting -= 1

    def _take(self) -> None:
        if self._guess_over is not None:
            if math.isinf(self._rate):
                self._rate = self.waiting / self._guess_over
            self._rate *= 1 + GUESS_GROWS_BY
        self._sent += 1
        at = now()
        interval = self._interval(at) * random.uniform(1 - JITTER, 1 + JITTER)
        self._next_at = max(self._next_at, at - max(interval, CATCHES_UP_S)) + interval


_PACES: WeakValueDictionary[tuple[str, str, float], Pace] = WeakValueDictionary()


def pace_of(url: str, key: str, patience: float) -> Pace:
    """The pace that all clients of one endpoint and key have in common."""
    return _PACES.setdefault((url, key, patience), Pace(patience))


def forget_paces() -> None:
    """Clients that are made from now on know nothing of what endpoints refused."""
    _PACES.clear()

"""A loopback model that counts what is in flight, and lets through what a bucket of tokens has."""

from __future__ import annotations

import math
import time

from program import chat_answer
from servers import FaultServer, Reply


class MeteredServer(FaultServer):
    """Answers every request after `delay` seconds, or with 429 where no token is left.

    Args:
        delay: Seconds.
        rate: Tokens a second.
        burst: Tokens at most, and at first.
    """

    def __init__(self, delay: float, rate: float = math.inf, burst: float = math.inf) -> None:
        super().__init__()
        self.came_at: list[float] = []
        self.most_in_flight = 0
        self.refused = 0
        self._delay = delay
        self._good = Reply(body=chat_answer("yes"), delay=delay)
        self._rate, self._burst = rate, burst
        self._tokens, self._filled_at = burst, time.monotonic()

    def _next_reply(self, path: str) -> Reply:
        now = time.monotonic()
        gained = (now - self._filled_at) * self._rate
        self._tokens, self._filled_at = min(self._tokens + gained, self._burst), now
        if self._tokens < 1:
            self.refused += 1
            wait = math.ceil(1000 * (1 - self._tokens) / self._rate)
            return Reply(429, {}, {"retry-after-ms": str(max(wait, 200))})
        self._tokens -= 1
        self.came_at.append(now)
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return self._good

    @property
    def mean_in_flight(self) -> float:
        """From the first request to the last one, refused ones left out."""
        first, last = self.came_at[0], self.came_at[-1]
        return sum(min(self._delay, last - at) for at in self.came_at) / (last - first)

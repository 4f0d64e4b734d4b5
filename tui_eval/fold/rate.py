"""How fast rollouts finish, over the last half minute."""

from __future__ import annotations

import math
from collections import deque


class Rate:
    """Counts finished rollouts by second; constant cost a rollout."""

    WINDOW_S = 30

    def __init__(self, since: float = 0.0) -> None:
        """Nothing yet.

        Args:
            since: Unix time from which on work counts: what began earlier began then.
        """
        self._seconds: deque[list[int]] = deque()
        self._since = since
        self._began = math.inf

    def begin(self, at: float) -> None:
        """A rollout began at this unix time (times may come in any order)."""
        self._began = min(self._began, max(at, self._since))

    def add(self, at: float, began: float) -> None:
        """One more finished at this unix time, which began at that (in any order)."""
        self.begin(began)
        second = int(at)
        if not self._seconds or second > self._seconds[-1][0]:
            self._seconds.append([second, 0])
        self._seconds[-1][1] += 1
        while self._seconds[0][0] < self._seconds[-1][0] - self.WINDOW_S:
            self._seconds.popleft()

    def per_second(self, now: float) -> float:
        """Rollouts a second over the last half minute, or since work began if that is less."""
        if not self._seconds:
            return 0.0
        start = max(now - self.WINDOW_S, self._began)
        count = sum(n for second, n in self._seconds if second + 1 > start)
        return count / max(now - start, 1.0)

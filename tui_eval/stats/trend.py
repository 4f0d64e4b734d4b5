"""Trends of a run: the rate of finished rollouts, and means of their values over time."""

from __future__ import annotations

import math
from collections import deque

MOST = 40


class RunningTrend:
    """Means of the first values, the next ones and so on; constant cost a value.

    Where there would be more than `MOST` stretches, neighbours become one, so that `each`, the
    values of a stretch, doubles. The last stretch may still have fewer.
    `most` is the greatest value.
    """

    __slots__ = ("_last", "_sums", "each", "most")

    def __init__(self) -> None:
        self.each = 1
        self.most = -math.inf
        self._sums: list[float] = []
        self._last = 0

    def add(self, value: float) -> None:
        """Takes in one finite value."""
        self.most = max(self.most, value)
        if not self._sums or self._last == self.each:
            if len(self._sums) == MOST:
                self._sums = [self._sums[at] + self._sums[at + 1] for at in range(0, MOST, 2)]
                self.each *= 2
            self._sums.append(0.0)
            self._last = 0
        self._sums[-1] += value
        self._last += 1

    def result(self) -> list[float]:
        """The means so far, the first values first."""
        if not self._sums:
            return []
        return [*(total / self.each for total in self._sums[:-1]), self._sums[-1] / self._last]


class Rate:
    """Counts finished rollouts by second; constant cost a rollout."""

    WINDOW_S = 30

    def __init__(self, since: float = 0.0) -> None:
        """Nothing yet; what began before this unix time counts from then on."""
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

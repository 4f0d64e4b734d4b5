"""How fast rollouts finish, over the last half minute."""

from __future__ import annotations

from collections import deque


class Rate:
    """Counts finished rollouts by second; constant cost a rollout."""

    WINDOW_S = 30

    def __init__(self) -> None:
        self._seconds: deque[list[int]] = deque()
        self._first: float | None = None

    def add(self, at: float) -> None:
        """One more finished at this unix time (times may come in any order)."""
        if self._first is None or at < self._first:
            self._first = at
        second = int(at)
        if not self._seconds or second > self._seconds[-1][0]:
            self._seconds.append([second, 0])
        self._seconds[-1][1] += 1
        while self._seconds[0][0] < self._seconds[-1][0] - self.WINDOW_S:
            self._seconds.popleft()

    def per_second(self, now: float) -> float:
        """Rollouts a second over the last half minute, or since the first one if that is less."""
        if self._first is None:
            return 0.0
        start = max(now - self.WINDOW_S, self._first - 0.5)
        count = sum(n for second, n in self._seconds if second + 1 > start)
        return count / max(now - start, 1.0)

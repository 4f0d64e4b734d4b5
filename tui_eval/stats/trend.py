"""How values change as they come in: means of stretches of equal length, in bounded memory."""

from __future__ import annotations

import math

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

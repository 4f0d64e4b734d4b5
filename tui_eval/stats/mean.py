"""Means of rollouts with honest intervals: clustered by example, Wilson's for pass or fail."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass

Z95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

ROUNDING = 1e-13
"""A sum of squares that is so small a share of its parts is what rounding left of 0."""

SUM_ROUNDING = 4e-15
"""A value so close to 1 is a weighted sum of passes that floats rounded."""


def half_of(mean: float | None, low: float, high: float) -> float:
    """An interval as the one number behind a ±: its longer side, so that none is shown shorter."""
    middle = (low + high) / 2 if mean is None else mean
    return max(high - middle, middle - low)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and how sure it is.

    Args:
        n: Values that went in.
        groups: Examples that they came from.
        mean: None where n is 0.
        std: Population standard deviation, as result files show it; None where n is 0.
        se: Standard error, clustered by example (CR1); None below two examples.
        low, high: 95 % interval; None where nothing can be said.
        method: `wilson`, `clustered` or `none`.
    """

    n: int
    groups: int
    mean: float | None
    std: float | None
    se: float | None
    low: float | None
    high: float | None
    method: str

    def with_zeros(self, count: int) -> float | None:
        """What the mean would be with so many further values of 0; None where that is none."""
        return (self.mean or 0.0) * self.n / (self.n + count) if self.n + count else None


NO_MEAN = Mean(0, 0, None, None, None, None, None, "none")


def wilson(successes: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share of `n` trials, n >= 1 (Wilson 1927)."""
    share, z2 = min(max(successes / n, 0.0), 1.0), Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return (
        0.0 if share == 0.0 else max(0.0, centre - half),
        1.0 if share == 1.0 else min(1.0, centre + half),
    )


class RunningMean:
    """A mean that grows by one value at a time, at constant cost a value.

    Values of the same cluster (example) are taken as dependent: the standard error is CR1
    (Miller 2024, arXiv 2411.00640, section 2.2). Where all values are 0 or 1 and each example has
    one, or all examples agree, the interval is Wilson's over the examples, which never has width
    0. Sums are kept relative to the first value, so that large, close values lose no digits. An
    interval of values that all lie from 0 to 1 is cut off there.

    Args:
        is_share: What is 0 or 1 everywhere passes or fails. Without it, values that are all 0 or
            all 1 may as well be a count, of which they say nothing more.
    """

    __slots__ = (
        *("_binary", "_groups", "_is_share", "_nn", "_parts", "_shift", "_sizes", "_sn", "_ss"),
        *("_within", "n", "square", "total"),
    )

    def __init__(self, is_share: bool = True) -> None:
        self._is_share = is_share
        self.n = 0
        self.total = 0.0
        self.square = 0.0
        self._shift = 0.0
        self._binary = self._within = True
        self._groups = 0
        self._sizes = array("I")
        self._parts = array("d")
        self._ss = self._sn = 0.0  # over clusters: sum², sum x size
        self._nn = 0  # over clusters: size²

    def add(self, cluster: int, value: float) -> None:
        """Takes in one finite value of a cluster: the place of its example, from 0."""
        if abs(value - 1.0) < SUM_ROUNDING:
            value = 1.0
        elif value != 0.0:
            self._binary = False
        self._within = self._within and 0.0 <= value <= 1.0
        if self.n == 0:
            self._shift = value
        x = value - self._shift
        self.n += 1
        self.total += x
        self.square += x * x
        missing = cluster + 1 - len(self._sizes)
        if missing > 0:
            self._sizes.frombytes(bytes(self._sizes.itemsize * missing))
            self._parts.frombytes(bytes(self._parts.itemsize * missing))
        size, part = self._sizes[cluster], self._parts[cluster]
        new_size, new_part = size + 1, part + x
        self._sizes[cluster], self._parts[cluster] = new_size, new_part
        self._groups += size == 0
        self._ss += new_part * new_part - part * part
        self._sn += new_part * new_size - part * size
        self._nn += new_size * new_size - size * size

    def result(self) -> Mean:
        """The mean of what was taken in so far."""
        n, groups = self.n, self._groups
        if n == 0:
            return NO_MEAN
        m = self.total / n
        mean = m + self._shift
        std = math.sqrt(max(self.square / n - m * m, 0.0))
        se = None
        if groups > 1:
            spread = self._ss - 2 * m * self._sn + m * m * self._nn
            if spread < ROUNDING * (self._ss + m * m * self._nn):
                spread = 0.0
            se = math.sqrt(spread) / n * math.sqrt(groups / (groups - 1))
        is_share = self._binary and (self._is_share or 0.0 < mean < 1.0)
        if is_share and (groups == n or not se):
            low, high = wilson(mean * groups, groups)
            return Mean(n, groups, mean, std, se, low, high, "wilson")
        if not se:
            return Mean(n, groups, mean, std, se, None, None, "none")
        low, high = mean - Z95 * se, mean + Z95 * se
        if self._within:
            low, high = max(low, 0.0), min(high, 1.0)
        return Mean(n, groups, mean, std, se, low, high, "clustered")

"""Distributions of values: quantiles within half a percent for millions of them, histograms."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tui_eval.stats.arrays import np

EXACT_UP_TO = 5_000
"""Values that are kept as they are; of more only the bucket of each is counted."""
WIDTH = math.log(1.01)
"""A bucket's width, on a logarithmic scale: its middle is at most 0.5 % off."""


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values, interpolated linearly; `share` from 0 to 1, one value least.

    Raises:
        ValueError: There are no values.
    """
    if not ordered:
        raise ValueError("no values have no quantile")
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


class Quantiles(NamedTuple):
    """Median and upper tail of `n` values; all three are None where n is 0."""

    n: int
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


class RunningQuantiles:
    """Quantiles that grow by one value at a time, in bounded memory and in any order.

    Values are durations or counts: a negative one counts as 0, what is not finite is left out.
    """

    __slots__ = ("_buckets", "_gone", "_values", "n")

    def __init__(self) -> None:
        self.n = 0
        self._values = array("d")  # as objects they would keep what is freed around them
        self._gone: Counter[float] = Counter()  # values that are taken back, until somebody looks
        self._buckets: Counter[int] = Counter()

    def add(self, value: float) -> None:
        """Takes in one value; each costs next to nothing, as buckets are filled by thousands."""
        if not -math.inf < value < math.inf:
            return
        self.n += 1
        self._values.append(value if value > 0.0 else 0.0)
        if len(self._values) > EXACT_UP_TO:
            self._fill_buckets()

    def remove(self, value: float) -> None:
        """Takes one value back that was taken in."""
        if not math.isfinite(value):
            return
        self.n -= 1
        if self._buckets:
            self._buckets[_bucket(value)] -= 1
            return
        self._gone[max(value, 0.0)] += 1

    def _fill_buckets(self) -> None:
        self._drop_gone()
        self._buckets.update(map(_bucket, self._values))
        self._values = array("d")

    def result(self) -> Quantiles:
        """The quantiles of what was taken in so far."""
        if self.n == 0:
            return Quantiles(0)
        if self._buckets:
            self._fill_buckets()
        self._drop_gone()
        self._values = array("d", sorted(self._values))  # sorted before: next to no comparisons
        return Quantiles(self.n, self._at(0.5), self._at(0.9), self._at(0.99))

    def _drop_gone(self) -> None:
        if self._gone:
            left = Counter(self._values)
            left.subtract(self._gone)
            self._values = array("d", left.elements())
            self._gone.clear()

    def _at(self, share: float) -> float:
        if not self._buckets:
            return quantile(self._values, share)
        wanted, passed = share * (self.n - 1), 0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if passed > wanted:
                return 0.0 if bucket == _OF_ZERO else math.exp((bucket + 0.5) * WIDTH)
        raise AssertionError("the last bucket passes every share")


_OF_ZERO = -(1 << 20)


def _bucket(value: float) -> int:
    return math.floor(math.log(value) / WIDTH) if value > 0.0 else _OF_ZERO


GREATEST = 1e300
"""Differences of greater numbers can be too great for a float."""
PLACES = 9
"""Decimals of a bin that distinguish values: sums of decimals are a little off."""


def histogram(values: Sequence[float] | np.ndarray, bins: int) -> tuple[list[int], float, float]:
    """Counts of values in equal bins, and the bounds of the whole.

    A bin has its lower edge and not its upper one, but for the last; so have decimals that no float
    is equal to, as 0.7 + 0.2 at 0.9.
    Values between 0 and 1 get the bounds 0 and 1, so that rewards of two runs look alike; other
    values their own least and greatest. NaN and what is beyond `GREATEST` are left out. No values:
    zero counts from 0 to 1.
    """
    finite = np.asarray(values, dtype=float)
    finite = finite[np.abs(finite) < GREATEST]
    if not len(finite):
        return [0] * bins, 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - max(0.5, abs(low) / 2), high + max(0.5, abs(high) / 2)
    places = np.round((finite - low) / (high - low) * bins, PLACES).astype(int)
    counts = np.bincount(np.minimum(places, bins - 1), minlength=bins)
    return [int(count) for count in counts], low, high

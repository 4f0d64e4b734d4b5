"""Means of rollouts with honest intervals: clustered by example, and for few examples too."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from typing import NamedTuple

from tui_eval.stats.intervals import (
    Interval,
    degrees_of_freedom,
    effective_number,
    estimator_name,
    interval_name,
    unseen_share,
    widened,
    wilson,
)
from tui_eval.stats.power import LEAST_EXAMPLES
from tui_eval.stats.rewards import DIGITS, ROUNDING, TOLERANCE, rounded
from tui_eval.stats.student_t import t_quantile

ROOM = 256
"""Clusters by which the arrays grow."""


def half_of(mean: float | None, low: float, high: float) -> float:
    """An interval as the one number behind a ±: its longer side, so that none is shown shorter."""
    middle = (low + high) / 2 if mean is None else mean
    return max(high - middle, middle - low)


class Mean(NamedTuple):
    """A mean and how sure it is."""

    n: int
    """Values that went in."""
    groups: int
    """Examples that they came from."""
    mean: float | None
    """None where n is 0."""
    std: float | None
    """Population standard deviation, as result files show it; None where n is 0."""
    se: float | None
    """Standard error, clustered by example (CR1); None below two examples."""
    low: float | None
    high: float | None
    """95 % interval; None where nothing can be said."""
    method: str
    """Method of the interval: `wilson` on `weight` independent rollouts, `t` with `weight` degrees
    of freedom, `t_widened` where few examples differ, `bound` where all are equal, which is what so
    many equal ones exclude, or `none`. `anytime`: see `fold.anytime`, of the first `weight`
    examples."""
    weight: float | None = None
    """See `method`; None for the others."""

    @property
    def estimator(self) -> str:
        """Name of the interval's method; empty where there is none."""
        return "" if self.low is None else estimator_name(self.method, self.weight, self.n)

    @property
    def interval_name(self) -> str:
        """The interval's method and number of values; empty where there is none."""
        found = interval_name(self.method, self.weight, self.groups, self.n)
        return "" if self.low is None else found

    def with_zeros(self, count: int) -> float | None:
        """The mean with so many further values of 0; None where there is none."""
        return (self.mean or 0.0) * self.n / (self.n + count) if self.n + count else None


NO_MEAN = Mean(0, 0, None, None, None, None, None, "none")


class RunningMean:
    """A mean that grows by one value at a time, at constant cost a value.

    Values of the same cluster (example) are taken as dependent: the standard error is CR1
    (Miller 2024, arXiv 2411.00640, section 2.2). Values of 0 and 1 have Wilson's interval on their
    effective number, others Student's t, whose degrees of freedom are Bell and McCaffrey's; see
    `intervals`. Neither has ever width 0. Sums are kept relative to the first value, so that large,
    close values lose no digits. An interval of values that all lie from 0 to 1 is cut off there.

    Args:
        is_share: What is 0 or 1 everywhere passes or fails. Without it, values that are all 0 or
            all 1 may as well be a count, of which they say nothing more.
    """

    __slots__ = (
        *("_binary", "_disagreeing", "_is_share", "_of_size", "_parts", "_shift", "_sizes"),
        *("_sn", "_ss", "_within", "n", "square", "total"),
    )

    def __init__(self, is_share: bool = True) -> None:
        self._is_share = is_share
        self.n = 0
        self.total = 0.0
        self.square = 0.0
        self._shift = 0.0
        self._binary = self._within = True
        self._disagreeing = 0  # examples with values of 0 and of 1
        self._of_size = [0, 0]  # clusters by their size
        self._sizes = array("I")
        self._parts = array("d")
        self._ss = self._sn = 0.0  # over clusters: sum², sum x size

    def add(self, cluster: int, value: float) -> None:
        """Takes in one number of a cluster: the place of its example, from 0."""
        if self._within and value != 0.0 and value != 1.0:
            near = rounded(value)
            self._binary = self._binary and near in (0.0, 1.0)
            self._within = 0.0 <= near <= 1.0
        if self.n == 0:
            self._shift = value
        x = value - self._shift
        self.n += 1
        self.total += x
        self.square += x * x
        sizes, parts = self._sizes, self._parts
        if cluster >= len(sizes):
            self._reach(cluster)
        size, part = sizes[cluster], parts[cluster]
        sizes[cluster], parts[cluster] = size + 1, part + x
        if size:
            self._add_again(size, part, part + x)
            return
        self._of_size[1] += 1  # its first value, as most are in a run of many examples
        self._ss += x * x
        self._sn += x

    def _reach(self, cluster: int) -> None:
        """Makes room for this cluster and the next ones, which are about to come."""
        more = cluster + ROOM - len(self._sizes)
        self._sizes.frombytes(bytes(self._sizes.itemsize * more))
        self._parts.frombytes(bytes(self._parts.itemsize * more))

    def _add_again(self, size: int, part: float, new_part: float) -> None:
        """A cluster has one more value than `size`, and the sum of its values is another."""
        new_size = size + 1
        self._of_size[size] -= 1
        if new_size == len(self._of_size):
            self._of_size.append(0)
        self._of_size[new_size] += 1
        if self._binary:  # a sum counts what is unlike the first value
            was, now = round(abs(part)), round(abs(new_part))
            self._disagreeing += (0 < now < new_size) - (0 < was < size)
        self._ss += new_part * new_part - part * part
        self._sn += new_part * new_size - part * size

    @property
    def _groups(self) -> int:
        """Clusters that have a value."""
        return sum(self._of_size)

    def result(self) -> Mean:
        """The mean of what was taken in so far."""
        n, groups = self.n, self._groups
        if n == 0:
            return NO_MEAN
        m = self.total / n
        mean = m + self._shift
        std = math.sqrt(max(self.square / n - m * m, 0.0))
        se = self._standard_error(m) if groups > 1 else None
        ends, method, weight = self._interval(mean, se)
        if ends is None:
            return Mean(n, groups, mean, std, se, None, None, method)
        low, high = (max(ends[0], 0.0), min(ends[1], 1.0)) if self._within else ends
        return Mean(n, groups, mean, std, se, low, high, method, weight)

    def _standard_error(self, m: float) -> float:
        groups = self._groups
        nn = sum(count * size * size for size, count in enumerate(self._of_size))
        spread = self._ss - 2 * m * self._sn + m * m * nn
        if spread < ROUNDING * (self._ss + m * m * nn):
            return 0.0
        se = math.sqrt(spread * groups / (groups - 1)) / self.n
        return se if se > TOLERANCE else 0.0

    def _widened(self, half: float) -> float:
        """Half the width of an interval: that of t, or more where few examples differ."""
        groups, is_known = self._groups, self._is_share and self._within
        if not is_known or groups < LEAST_EXAMPLES or half >= unseen_share(groups):
            return half
        sums = zip(self._parts, self._sizes, strict=True)
        counts = Counter(round(part / size, DIGITS) for part, size in sums if size)
        return widened(half, groups, groups - max(counts.values()), 1.0)

    def _interval(self, mean: float, se: float | None) -> tuple[Interval | None, str, float | None]:
        groups = self._groups
        if self._binary and (self._is_share or 0.0 < mean < 1.0):
            worth = effective_number(self.n, groups, mean, se, self._disagreeing)
            return wilson(mean * worth, worth), "wilson", worth
        if se:
            df = degrees_of_freedom(self._of_size)
            half = t_quantile(0.975, df) * se
            wide = self._widened(half)
            return (mean - wide, mean + wide), "t" if wide == half else "t_widened", df
        if se is not None and self._is_share and self._within:
            half = unseen_share(groups)
            return (mean - half, mean + half), "bound", None
        return None, "none", None

"""The numbers of two runs over the examples that both have, and how they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tui_eval.fold.columns import Columns
from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.query.fields import METRIC
from tui_eval.fold.rollout_columns import DONE
from tui_eval.stats.arrays import np
from tui_eval.stats.paired import PairedDifference, Pairs, paired_differences
from tui_eval.stats.rewards import is_equal, rounded
from tui_eval.stats.verdict import Verdict, judge

FIGURES = ("turns", "calls", "tokens", "time")
"""Numbers that are compared beside reward and metrics."""


class NoiseFloor(msgspec.Struct, frozen=True):
    """Difference between runs of one configuration, by chance alone."""

    reach: float
    """The far end of the paired interval of the first run and its rerun, from 0."""
    place: int
    """Place of that rerun; 0 is the first run."""


class PairedFigure(msgspec.Struct):
    """One number of both runs over the examples that both have, and second minus first."""

    field: str
    """Its field in the language of filters."""
    first: float | None
    second: float | None
    """Means over the rollouts, as a report has them; None where there is none."""
    difference: PairedDifference
    by_example: tuple[float, float] | None = None
    """Means of the examples' means, whose difference is tested."""
    holm_p: float | None = None
    """The p-value of its difference, raised by Holm's method; None where it has none."""
    floor: NoiseFloor | None = None
    """Noise of a rerun of the first run; None where no run is one."""

    @property
    def is_reward(self) -> bool:
        """Whether more of it is better, and not just more."""
        return self.field == "reward"

    @property
    def is_equal(self) -> bool:
        """Whether it is equal in every example."""
        found = self.difference
        return found.mean is not None and is_equal(found.mean, 0.0) and not found.se

    @property
    def reach(self) -> float | None:
        """The end of its interval that is farther from 0, without a sign; None without one."""
        low, high = self.difference.low, self.difference.high
        return None if low is None or high is None else max(-low, high)

    @property
    def is_inside_floor(self) -> bool:
        """Whether runs of one configuration may differ as much."""
        mean = self.difference.mean
        return self.floor is not None and mean is not None and abs(mean) <= self.floor.reach

    @property
    def is_uneven(self) -> bool:
        """Whether the means over rollouts differ otherwise than the examples' means."""
        if self.first is None or self.second is None or self.difference.mean is None:
            return False
        return not is_equal(self.second - self.first, self.difference.mean)

    @property
    def verdict(self) -> Verdict:
        """Verdict on its difference."""
        return judge(self.difference, self.holm_p)

    @property
    def name(self) -> str:
        """Its name for people."""
        return self.field.removeprefix(METRIC)


class ExampleValues(NamedTuple):
    """A number of each example: its mean over the rollouts that have it, and how many have."""

    means: np.ndarray
    counts: np.ndarray
    low: float
    high: float
    """The least and the greatest number of any rollout; NaN where none has one."""

    def of(self, chosen: np.ndarray) -> ExampleValues:
        """Those of some examples."""
        return self._replace(means=self.means[chosen], counts=self.counts[chosen])

    @property
    def mean(self) -> float:
        """The mean of the examples' means."""
        return float(self.means.mean())

    @property
    def pooled(self) -> float:
        """The mean over the rollouts."""
        return math.fsum(self.means * self.counts) / float(self.counts.sum())


class ExampleRollouts:
    """The rollouts without an error of some examples of a run, by the rows of each example."""

    def __init__(self, side: Side, rows: Sequence[Sequence[int]]) -> None:
        self.side = side
        self._columns = Columns(side.state)
        sizes = [len(one) for one in rows]
        flat = np.fromiter((row for one in rows for row in one), np.int64, sum(sizes))
        done = self._columns.stages()[flat] == DONE
        self._rows, self._examples = flat[done], np.repeat(np.arange(len(rows)), sizes)[done]
        self.count = len(rows)

    def values(self, name: str) -> ExampleValues:
        """A field in the language of filters; the mean of an example without any is NaN."""
        values = self._columns.numbers(name)[self._rows]
        there = ~np.isnan(values)
        values, examples = values[there], self._examples[there]
        counts = np.bincount(examples, minlength=self.count)
        sums = np.bincount(examples, values, minlength=self.count)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        ends = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
        return ExampleValues(means, counts, *map(float, ends))


def paired_figures(first: ExampleRollouts, second: ExampleRollouts) -> list[PairedFigure]:
    """The reward, metrics that both runs have, and what was spent; nothing without examples."""
    if not first.count:
        return []
    theirs = second.side.state.details.metrics
    metrics = [METRIC + name for name in first.side.state.details.metrics if name in theirs]
    names = ("reward", *metrics, *FIGURES)
    both = [_of_examples_in_both(first.values(name), second.values(name)) for name in names]
    pairs = [_pairs(name, *values) for name, values in zip(names, both, strict=True)]
    return [
        PairedFigure(name, a.pooled, b.pooled, difference, (a.mean, b.mean))
        if difference.n
        else PairedFigure(name, None, None, difference)
        for name, (a, b), difference in zip(names, both, paired_differences(pairs), strict=True)
    ]


def _of_examples_in_both(
    first: ExampleValues, second: ExampleValues
) -> tuple[ExampleValues, ExampleValues]:
    there = ~(np.isnan(first.means) | np.isnan(second.means))
    return first.of(there), second.of(there)


def _pairs(name: str, a: ExampleValues, b: ExampleValues) -> Pairs:
    """The means of the second run less those of the first; their range where it is known."""
    if not len(a.means):
        return Pairs(b.means, a.means)
    ends = [rounded(min(a.low, b.low)), rounded(max(a.high, b.high))]
    is_share = name == "reward"
    if name not in FIGURES and name != "reward":  # where all are equal they may as well be a count
        is_share = ends == [0.0, 1.0]
    in_range = is_share and 0.0 <= ends[0] <= ends[1] <= 1.0
    single = is_share and bool((a.counts == 1).all() and (b.counts == 1).all())
    return Pairs(b.means, a.means, single, 1.0 if in_range else None)

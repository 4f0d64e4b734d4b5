"""Each example's own numbers, kept up to date one rollout at a time."""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

from tui_eval.stats.rewards import is_equal


class ExampleFigures(NamedTuple):
    """Numbers of one example, over its rollouts."""

    n: int
    """Rollouts with a reward."""
    errored: int
    """Rollouts that ended in an error."""
    each: int
    """Rollouts that make it complete."""
    mean: float | None
    std: float | None
    """Mean and spread of the rewards, `std` of the population; None where n is 0."""
    passed: int
    """Rollouts whose reward reached the threshold."""
    all_equal: bool
    """Two rollouts at least, and their rewards are all equal: together they teach a trainer
    nothing."""

    @property
    def is_complete(self) -> bool:
        """Whether all of its rollouts have finished."""
        return self.n + self.errored >= self.each


class RunningExamples:
    """Figures of every example; constant cost a rollout.

    Args:
        examples: Number at first; further ones are added as they come.
        each: Rollouts that make an example complete.
    """

    __slots__ = (
        *("_errored", "_high", "_low", "_mean", "_means", "_n", "_passed", "_spread"),
        *("complete", "each", "equal", "scored", "with_several"),
    )

    def __init__(self, examples: int = 0, each: int = 1) -> None:
        self.each = each
        self.complete = 0
        """Examples with a reward of every rollout."""
        self.scored = 0
        """Examples with a reward at least."""
        self.with_several = 0
        """Examples with two rewards at least."""
        self.equal = 0
        """Those of them whose rewards are all equal."""
        self._means = 0.0
        self._n = array("I", bytes(4 * examples))
        self._errored = array("I", bytes(4 * examples))
        self._passed = array("I", bytes(4 * examples))
        self._low = array("d", bytes(8 * examples))
        self._high = array("d", bytes(8 * examples))
        self._mean = array("d", bytes(8 * examples))
        self._spread = array("d", bytes(8 * examples))

    def __len__(self) -> int:
        return len(self._n)

    def add(self, example: int, reward: float, passed: bool) -> None:
        """Takes in the finite reward of one rollout of the example at this place, from 0."""
        self.reach(example)
        was_equal = self._all_equal(example)
        n = self._n[example]
        self._low[example] = min(self._low[example], reward) if n else reward
        self._high[example] = max(self._high[example], reward) if n else reward
        self._n[example] = n + 1
        self._passed[example] += passed
        off = reward - self._mean[example]
        self._mean[example] += off / (n + 1)
        self._means += off / (n + 1)
        self._spread[example] += off * (reward - self._mean[example])
        self.complete += n + 1 == self.each
        self.scored += n == 0
        self.with_several += n == 1
        self.equal += self._all_equal(example) - was_equal

    @property
    def mean_of_means(self) -> float | None:
        """The mean of the examples' mean rewards, each example counted once; None without any."""
        return self._means / self.scored if self.scored else None

    def add_error(self, example: int) -> None:
        """Counts one rollout of an example that ended in an error."""
        self.reach(example)
        self._errored[example] += 1

    def remove_error(self, example: int) -> None:
        """Takes back one rollout that ended in an error."""
        self._errored[example] -= 1

    def result(self, example: int) -> ExampleFigures:
        """Present numbers of the example at this place."""
        n, errored, each = self._n[example], self._errored[example], self.each
        if not n:
            return ExampleFigures(0, errored, each, None, None, 0, False)
        mean, passed = self._mean[example], self._passed[example]
        std = math.sqrt(max(self._spread[example] / n, 0.0))
        return ExampleFigures(n, errored, each, mean, std, passed, self._all_equal(example))

    def _all_equal(self, example: int) -> bool:
        return self._n[example] > 1 and is_equal(self._low[example], self._high[example])

    def reach(self, example: int) -> None:
        """Adds examples until there is one at this place."""
        missing = example + 1 - len(self._n)
        if missing > 0:
            for column in (self._n, self._errored, self._passed):
                column.extend([0] * missing)
            for numbers in (self._low, self._high, self._mean, self._spread):
                numbers.extend([0.0] * missing)

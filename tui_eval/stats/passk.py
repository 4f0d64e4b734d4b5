"""pass@k and pass^k without bias, kept up to date one rollout at a time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple

from tui_eval.stats.intervals import Interval, effective_number, wilson


@lru_cache(maxsize=4096)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n rollouts, c of them passing, hold at least one that passes.

    1 - C(n-c, k) / C(n, k), for 1 <= k <= n (Chen et al. 2021, arXiv 2107.03374).
    """
    return 1.0 if n - c < k else 1.0 - comb(n - c, k) / comb(n, k)


@lru_cache(maxsize=4096)
def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that k of n rollouts, c of them passing, all pass: C(c, k) / C(n, k) (tau-bench)."""
    return comb(c, k) / comb(n, k)


def ks_up_to(r: int) -> list[int]:
    """The k shown for r rollouts an example: 1, 2, 4, ... and r itself; none for r <= 1."""
    if r <= 1:
        return []
    ks = [1 << i for i in range(r.bit_length()) if 1 << i <= r]
    return ks if ks[-1] == r else [*ks, r]


class PassRate(NamedTuple):
    """A rate over the examples that have at least k rollouts; `left_out` counts the others.

    Args:
        any_passes, all_pass: pass@k and pass^k.
        any_interval, all_interval: Their 95 % intervals: Wilson's on the effective number of
            rollouts (`intervals.effective_number`), by the spread between examples (delta method).
        any_weight, all_weight: Those effective numbers.
    """

    k: int
    any_passes: float
    all_pass: float
    examples: int
    left_out: int
    any_interval: Interval
    all_interval: Interval
    any_weight: float
    all_weight: float


class _Rate:
    """The mean of what each example comes to for one k, and how much examples differ."""

    __slots__ = ("chances", "disagreeing", "squares", "total")

    def __init__(self, chances: Callable[[int, int, int], float]) -> None:
        self.chances = chances
        self.total = self.squares = 0.0
        self.disagreeing = 0

    def move(self, n: int, c: int, k: int, sign: int) -> None:
        """Counts an example with `c` of `n` passing in, or out again where `sign` is -1."""
        value = self.chances(n, c, k)
        self.total += sign * value
        self.squares += sign * value * value
        self.disagreeing += sign * (0.0 < value < 1.0)

    def result(self, rollouts: int, examples: int) -> tuple[float, Interval, float]:
        """The rate, its interval and the effective number of rollouts."""
        mean = min(max(self.total / examples, 0.0), 1.0)
        if not self.disagreeing:  # what is left of additions and subtractions is no share
            mean = round(self.total) / examples
        se = None
        if examples > 1:
            spread = max(self.squares / examples - mean * mean, 0.0)
            se = math.sqrt(spread / (examples - 1))
        worth = effective_number(rollouts, examples, mean, se, self.disagreeing)
        return mean, wilson(mean * worth, worth), worth


class RunningPassAtK:
    """pass@k and pass^k for several k; constant cost a rollout."""

    __slots__ = ("_counts", "_passed", "_rates", "_rollouts", "ks")

    def __init__(self, ks: Sequence[int]) -> None:
        self.ks = list(ks)
        self._rollouts = array("I")
        self._passed = array("I")
        self._rates = {k: (_Rate(pass_at_k), _Rate(pass_hat_k)) for k in self.ks}
        self._counts = {k: [0, 0] for k in self.ks}  # examples with k rollouts, their rollouts

    def add(self, cluster: int, passed: bool) -> None:
        """Takes in one rollout of the example at this place, from 0."""
        if not self.ks:
            return
        missing = cluster + 1 - len(self._rollouts)
        if missing > 0:
            self._rollouts.frombytes(bytes(self._rollouts.itemsize * missing))
            self._passed.frombytes(bytes(self._passed.itemsize * missing))
        n, c = self._rollouts[cluster], self._passed[cluster]
        self._rollouts[cluster], self._passed[cluster] = n + 1, c + passed
        for k, rates in self._rates.items():
            if n + 1 < k:
                continue
            counts = self._counts[k]
            counts[0] += n < k
            counts[1] += 1 if n >= k else k
            for rate in rates:
                if n >= k:
                    rate.move(n, c, k, -1)
                rate.move(n + 1, c + passed, k, 1)

    def result(self, examples: int) -> list[PassRate]:
        """The rates so far, for every k that at least one example has enough rollouts for.

        Args:
            examples: Examples of the whole run: what has not enough rollouts is left out.
        """
        found = []
        for k, (n, rollouts) in self._counts.items():
            if n:
                any_, all_ = (rate.result(rollouts, n) for rate in self._rates[k])
                rates, ends, worths = (any_[0], all_[0]), (any_[1], all_[1]), (any_[2], all_[2])
                found.append(PassRate(k, *rates, n, examples - n, *ends, *worths))
        return found

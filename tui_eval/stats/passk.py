"""pass@k and pass^k without bias, kept up to date one rollout at a time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple

from tui_eval.stats.intervals import Interval, effective_number, wilson


@lru_cache(maxsize=65_536)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n rollouts, c of them passing, hold at least one that passes.

    1 - C(n-c, k) / C(n, k), for 1 <= k <= n (Chen et al. 2021, arXiv 2107.03374).
    """
    return 1.0 if n - c < k else 1.0 - comb(n - c, k) / comb(n, k)


@lru_cache(maxsize=65_536)
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
    """A rate over the examples that have at least k rollouts; `left_out` counts the others."""

    k: int
    any_passes: float
    all_pass: float
    """pass@k and pass^k."""
    examples: int
    left_out: int
    any_interval: Interval
    all_interval: Interval
    """Their 95 % intervals: Wilson's on the effective number of rollouts
    (`intervals.effective_number`), by the spread between examples (delta method)."""
    any_weight: float
    all_weight: float
    """Those effective numbers."""


class RunningPassAtK:
    """pass@k and pass^k for several k; constant cost a rollout.

    Examples with equally many rollouts of which equally many pass are only counted.
    """

    __slots__ = ("_passed", "_rollouts", "_with", "ks")

    def __init__(self, ks: Sequence[int]) -> None:
        self.ks = list(ks)
        self._rollouts = array("I")
        self._passed = array("I")
        self._with: dict[tuple[int, int], int] = {}

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
        if n:
            self._with[n, c] -= 1
        now = (n + 1, c + passed)
        self._with[now] = self._with.get(now, 0) + 1

    def result(self, examples: int) -> list[PassRate]:
        """The rates so far, for every k that at least one example has enough rollouts for.

        Args:
            examples: Examples of the whole run: what has not enough rollouts is left out.
        """
        found = []
        for k in self.ks:
            kept = [(n, c, count) for (n, c), count in self._with.items() if n >= k and count]
            if not kept:
                continue
            number = sum(count for _, _, count in kept)
            any_passes, any_interval, any_weight = _rate(pass_at_k, kept, k)
            all_pass, all_interval, all_weight = _rate(pass_hat_k, kept, k)
            found.append(
                PassRate(
                    k=k,
                    any_passes=any_passes,
                    all_pass=all_pass,
                    examples=number,
                    left_out=examples - number,
                    any_interval=any_interval,
                    all_interval=all_interval,
                    any_weight=any_weight,
                    all_weight=all_weight,
                )
            )
        return found


def _rate(
    chance: Callable[[int, int, int], float], kept: Sequence[tuple[int, int, int]], k: int
) -> tuple[float, Interval, float]:
    """The mean of what examples come to, its interval, and the effective number behind that.

    Args:
        kept: (rollouts, passing, examples with these), each.
    """
    values = [(chance(n, c, k), count) for n, c, count in kept]
    examples = sum(count for _, count in values)
    mean = math.fsum(value * count for value, count in values) / examples
    se = None
    if examples > 1:
        spread = math.fsum(count * (value - mean) ** 2 for value, count in values)
        se = math.sqrt(spread / (examples - 1) / examples)
    disagreeing = sum(count for value, count in values if 0.0 < value < 1.0)
    rollouts = sum(n * count for n, _, count in kept)
    weight = effective_number(rollouts, examples, mean, se, disagreeing)
    return mean, wilson(mean * weight, weight), weight

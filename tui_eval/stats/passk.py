"""pass@k and pass^k without bias, kept up to date one rollout at a time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n rollouts, c of them passing, hold at least one that passes.

    1 - C(n-c, k) / C(n, k), for 1 <= k <= n (Chen et al. 2021, arXiv 2107.03374).
    """
    return 1.0 if n - c < k else 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that k of n rollouts, c of them passing, all pass: C(c, k) / C(n, k) (tau-bench)."""
    return comb(c, k) / comb(n, k)


def ks_up_to(r: int) -> list[int]:
    """The k shown for r rollouts an example: 1, 2, 4, ... and r itself; none for r <= 1."""
    if r <= 1:
        return []
    ks = [1 << i for i in range(r.bit_length()) if 1 << i <= r]
    return ks if ks[-1] == r else [*ks, r]


@dataclass(frozen=True, slots=True)
class PassRate:
    """Mean over the examples that have at least k rollouts; `left_out` counts the others."""

    k: int
    any_passes: float
    all_pass: float
    examples: int
    left_out: int


class RunningPassAtK:
    """pass@k and pass^k for several k; constant cost a rollout."""

    __slots__ = ("_passed", "_rollouts", "_sums", "ks")

    def __init__(self, ks: Sequence[int]) -> None:
        self.ks = list(ks)
        self._rollouts = array("I")
        self._passed = array("I")
        self._sums = {k: [0, 0.0, 0.0] for k in self.ks}

    def add(self, cluster: int, passed: bool) -> None:
        """Takes in one rollout of the example at this place, from 0."""
        if not self.ks:
            return
        missing = cluster + 1 - len(self._rollouts)
        if missing > 0:
            self._rollouts.frombytes(bytes(self._rollouts.itemsize * missing))
            self._passed.frombytes(bytes(self._passed.itemsize * missing))
        n, c = self._rollouts[cluster], self._passed[cluster]
        now = (n + 1, c + passed)
        self._rollouts[cluster], self._passed[cluster] = now
        for k, sums in self._sums.items():
            if n + 1 < k:
                continue
            if n >= k:
                sums[1] -= pass_at_k(n, c, k)
                sums[2] -= pass_hat_k(n, c, k)
            else:
                sums[0] += 1
            sums[1] += pass_at_k(*now, k)
            sums[2] += pass_hat_k(*now, k)

    def result(self, examples: int) -> list[PassRate]:
        """The rates so far, for every k that at least one example has enough rollouts for.

        Args:
            examples: Examples of the whole run: what has not enough rollouts is left out.
        """
        return [
            PassRate(k, float(any_) / n, float(all_) / n, int(n), examples - int(n))
            for k, (n, any_, all_) in self._sums.items()
            if n
        ]

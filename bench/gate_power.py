"""A gate on reruns that changed nothing: how often it fails them, and the power that it states."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from bench.figure import Figure, NotMeasuredError
from bench.setting import Setting
from bench.simulated_rewards import example_levels, passes_of
from tui_eval.exit_codes import ExitCode
from tui_eval.stats.intervals import unseen_share, widened
from tui_eval.stats.paired import PairedDifference, Pairs, newcombe, paired_differences
from tui_eval.stats.student_t import t_quantile
from tui_eval.stats.verdict import MARGIN, judge_gate

PAIRS = 20_000
SEED = 32_017
SHAPES = ((50, 3), (200, 5), (50, 1), (200, 1))
"""Examples and rollouts of each."""
MEANS = (0.5, 0.8, 0.95)
CORRELATIONS = (0.0, 0.3, 0.8)
"""Correlations of the rollouts of one example (ICC); rewards are 0 or 1."""
CHECKED = 100
"""Pairs of each cell that go the whole way through the program, which must say the same."""


class Seen(NamedTuple):
    """A share of one cell's pairs that passed, its stated mean, and the share that failed; in %."""

    passed: float
    stated: float
    failed: float


def measure(setting: Setting) -> Iterator[Figure]:
    """The worst of all means and correlations, for each shape."""
    pairs = PAIRS // 10 if setting.quick else PAIRS
    rng = np.random.default_rng(SEED)
    for examples, rollouts in SHAPES:
        cells = {
            f"mean {mean:g}, ICC {icc:g}": _simulate(rng, examples, rollouts, mean, icc, pairs)
            for mean in MEANS
            for icc in (CORRELATIONS if rollouts > 1 else CORRELATIONS[::2])
        }
        shape = f"{examples} x {rollouts}"
        worst = max(cells, key=lambda name: cells[name].failed)
        note = f"{worst}, of {pairs:,} pairs in each of {len(cells)} cells"
        yield Figure(f"false failures, {shape}", cells[worst].failed, 3, " %", note)
        off = max(cells, key=lambda name: abs(cells[name].stated - cells[name].passed))
        one = cells[off]
        note = f"{off}: stated {one.stated:.1f} %, passed {one.passed:.1f} %"
        yield Figure(f"stated power off by, {shape}", abs(one.stated - one.passed), 3, "", note)


def _simulate(
    rng: np.random.Generator, examples: int, rollouts: int, mean: float, icc: float, pairs: int
) -> Seen:
    """Pairs of runs of the same chances: beta-binomial passes of each example."""
    levels = example_levels(rng, pairs, examples, mean, icc)
    first, second = (passes_of(rng, levels, rollouts) for _ in range(2))
    judge = _single if rollouts == 1 else _several
    gates = np.array([judge(*key) for key in _keys(first, second, rollouts).tolist()])
    for place in range(min(CHECKED, pairs)):
        _check(first[place] / rollouts, second[place] / rollouts, rollouts == 1, gates[place])
    codes, stated = gates[:, 0], gates[:, 1]
    return Seen(
        100 * float(np.mean(codes == ExitCode.FINISHED)),
        100 * float(stated.mean()),
        100 * float(np.mean(codes == ExitCode.FAILED)),
    )


def _keys(first: np.ndarray, second: np.ndarray, rollouts: int) -> np.ndarray:
    """Inputs of the gate of each pair, in whole numbers, shape (pairs, 4 or 5)."""
    if rollouts == 1:
        parts = (first & second, second & ~first, first & ~second, 1 - (first | second))
        return np.stack([part.sum(1) for part in parts], 1)
    differences = second - first
    shape = [np.full(len(first), size) for size in (first.shape[1], rollouts)]
    commonest = np.max([(differences == d).sum(1) for d in range(-rollouts, rollouts + 1)], 0)
    return np.stack([*shape, differences.sum(1), (differences**2).sum(1), commonest], 1)


@cache
def _single(both: int, first: int, second: int, neither: int) -> tuple[ExitCode, float]:
    table = both, first, second, neither
    n, mean = sum(table), (first - second) / sum(table)
    if first + second:
        ends = newcombe(*table)
        return _gate(PairedDifference(n, mean, 0.0, *ends, "newcombe", None, table=table))
    return _gate(_equal(n))


@cache
def _several(
    n: int, rollouts: int, total: int, squares: int, commonest: int
) -> tuple[ExitCode, float]:
    mean = total / n / rollouts
    spread = squares / rollouts**2 - n * mean**2
    if not squares:
        return _gate(_equal(n))
    se = (spread / (n - 1) / n) ** 0.5
    t = t_quantile(0.975, n - 1) * se
    half = widened(t, n, n - commonest, 1.0)
    few = n - commonest if half > t else None
    ends = mean - half, mean + half
    return _gate(PairedDifference(n, mean, se, *ends, "t", None, scale=1.0, differing=few))


def _equal(n: int) -> PairedDifference:
    half = unseen_share(n)
    return PairedDifference(n, 0.0, 0.0, -half, half, "bound", None)


def _gate(found: PairedDifference) -> tuple[ExitCode, float]:
    gate = judge_gate(found, MARGIN)
    if gate.power is None:
        raise NotMeasuredError("a gate has no power")
    return gate.code, gate.power


def _check(first: np.ndarray, second: np.ndarray, single: bool, gate: np.ndarray) -> None:
    """Checks that the program says the same of the rewards themselves.

    Raises:
        NotMeasuredError: It does not.
    """
    found = _gate(*paired_differences([Pairs(second, first, single, 1.0)], 10))
    if not np.allclose(np.array(found), gate, atol=1e-9):
        raise NotMeasuredError(f"simulated {gate}, but the program says {found}")

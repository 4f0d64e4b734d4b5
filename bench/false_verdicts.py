"""Rate of verdicts between two runs of one model, simulated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.figure import Figure
from bench.setting import Setting
from bench.simulated_rewards import example_levels, passes_of, two_of_continuous
from tui_eval.stats.paired import Pairs, paired_differences
from tui_eval.stats.verdict import judge

SIZES = ((5, 3), (10, 3), (50, 1), (200, 5))
"""Examples, and rollouts of each."""
ALIKE = (0.0, 0.4, 0.8)
MEAN = 0.7
PAIRS = 20_000
FLIPS = 1000
SEED = 2


def measure(setting: Setting) -> Iterator[Figure]:
    """A figure for each size and kind of reward: that of the worst intraclass correlation."""
    rng = np.random.default_rng(SEED)
    pairs = PAIRS // 20 if setting.quick else PAIRS
    for groups, each in SIZES:
        for kind in ("0/1", "continuous"):
            found = {}
            for alike in ALIKE:
                if kind == "continuous":
                    runs = two_of_continuous(rng, pairs, groups, each, alike)
                else:
                    levels = example_levels(rng, pairs, groups, MEAN, alike)
                    one, other = (passes_of(rng, levels, each) / each for _ in range(2))
                    runs = one, other
                found[alike] = _share(*runs, single=kind == "0/1" and each == 1)
            note = ", ".join(f"ICC {alike}: {share:.2f}" for alike, share in found.items())
            what = f"false verdicts, {groups}x{each}, {kind}"
            yield Figure(what, max(found.values()), 5.5, "%", f"{note}; {pairs:,} pairs each")


def _share(first: np.ndarray, second: np.ndarray, single: bool) -> float:
    """Percent of pairs of runs that get a verdict."""
    count = 0
    for one, other in zip(first, second, strict=True):
        (found,) = paired_differences([Pairs(other, one, single, 1.0)], FLIPS)
        count += judge(found, found.p).is_conclusive
    return 100 * count / len(first)

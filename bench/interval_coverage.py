"""Coverage of the 95 % interval of one run: 0/1 rewards, simulated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.figure import Figure
from bench.setting import Setting
from bench.simulated_rewards import example_levels, passes_of
from tui_eval.stats.intervals import effective_number, wilson

SIZES = ((5, 3), (10, 3), (20, 3), (50, 1), (50, 4), (200, 5))
"""Examples, and rollouts of each."""
MEANS = (0.5, 0.8, 0.95)
ALIKE = (0.0, 0.3, 0.8)
RUNS = 6000
SEED = 1


def measure(setting: Setting) -> Iterator[Figure]:
    """Each cell of examples x rollouts, mean and intraclass correlation."""
    rng = np.random.default_rng(SEED)
    runs = RUNS // 10 if setting.quick else RUNS
    found: dict[str, float] = {}
    for groups, each in SIZES:
        for mean in MEANS:
            for alike in ALIKE[:1] if each == 1 else ALIKE:
                levels = example_levels(rng, runs, groups, mean, alike)
                passed = passes_of(rng, levels, each)
                held = [_holds(counts, each, mean) for counts in passed]
                found[f"{groups}x{each}, mean {mean}, ICC {alike}"] = 100 * float(np.mean(held))
    worst = min(found, key=lambda cell: found[cell])
    over = f"{len(found)} cells of {runs:,} runs"
    least, average = found[worst], float(np.mean(list(found.values())))
    yield Figure("coverage of the 95 % interval, worst cell", least, 93, "%", worst, at_least=True)
    yield Figure("the same on average, at least", average, 94, "%", over, at_least=True)
    yield Figure("and at most", average, 98, "%", over)


def _holds(passed: np.ndarray, each: int, mean: float) -> bool:
    groups = len(passed)
    n, total = groups * each, int(passed.sum())
    share = total / n
    spread = float(((passed - each * share) ** 2).sum())
    se = np.sqrt(spread * groups / (groups - 1)) / n
    disagreeing = int(((passed > 0) & (passed < each)).sum())
    worth = effective_number(n, groups, share, se, disagreeing)
    low, high = wilson(share * worth, worth)
    return bool(low <= mean + 1e-12 and mean - 1e-12 <= high)

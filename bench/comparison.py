"""Comparing two runs of 2,500 examples: verdicts, intervals and chances of every number."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from statistics import median

from bench.figure import Figure, spread
from bench.filtering import EACH, run_started
from bench.setting import Setting
from tui_eval.events import RolloutFinished
from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.comparison import compare_runs
from tui_eval.fold.run_state import RunState

EXAMPLES, METRICS = 2_500, 12
LIMIT_S = 0.5


def measure(setting: Setting) -> Iterator[Figure]:
    """CPU seconds of all that is computed once both runs are read."""
    sides = [made_side(seed) for seed in (1, 2)]
    taken = []
    for _ in range(setting.repeats(7, 3)):
        before = time.process_time()
        (found,) = compare_runs(sides)
        verdicts = [one.verdict for one in found.figures]
        taken.append(time.process_time() - before)
        assert len(verdicts) == METRICS + 5
    note = f"CPU, of {len(taken)}: {spread(taken)}"
    yield Figure(f"compare {EXAMPLES:,} examples × {EACH}", median(taken), LIMIT_S, " s", note)


def made_side(seed: int) -> Side:
    """A run whose rewards and half of whose metrics are any number, the others 0 or 1."""
    dice = random.Random(seed)
    state = RunState()
    state.apply(run_started(0.0, EXAMPLES))
    for row in range(EXAMPLES * EACH):
        metrics = {f"share_{at}": float(dice.random() < 0.6) for at in range(METRICS // 2)}
        metrics |= {f"score_{at}": dice.random() for at in range(METRICS // 2)}
        turns, tokens = dice.randint(1, 9), dice.randint(100, 9000)
        state.apply(
            RolloutFinished(
                *(0, 0.0, row, row // EACH, row % EACH, 1, row * 9000, 9000),
                *(dice.random(), None, "done", False, turns, turns - 1, tokens, 60 * turns),
                *(0.0, 900.0, 9.0, dice.random() * 9000, metrics),
            )
        )
    return Side(state, {place: b"%d" % place for place in range(EXAMPLES)})

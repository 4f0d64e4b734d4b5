"""The example that docs/results.md works out by hand is right, digit by digit."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest
import scipy

from tui_eval.stats.mean import Mean, RunningMean
from tui_eval.stats.passk import PassRate, RunningPassAtK

TEXT = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
SECTION = TEXT[TEXT.index("By hand: five examples") : TEXT.index("## How an answer ends")]
FIVE = [[1, 1, 0]] * 4 + [[1, 1, 1]]
DISAGREEING = 4


def row(name: str, column: int) -> list[float]:
    """The numbers that a line of the table ends with in one of its two columns."""
    line = next(one for one in SECTION.splitlines() if one.startswith(f"| {name} |"))
    return [float(one) for one in re.findall(r"[\d.]+", line.split("|")[3 + column])]


def mean_of(groups: Sequence[Sequence[float]]) -> Mean:
    found = RunningMean()
    for example, rewards in enumerate(groups):
        for reward in rewards:
            found.add(example, reward)
    return found.result()


def five() -> PassRate:
    found = RunningPassAtK([2])
    for example, rewards in enumerate(FIVE):
        for reward in rewards:
            found.add(example, reward == 1)
    return found.result(5)[0]


@pytest.mark.parametrize(
    ("column", "examples"), [(0, [2 / 3] * 4 + [1]), (1, [1 / 3] * 4 + [1])], ids=["reward", "pass"]
)
def test_the_table_follows_from_its_formulas(column: int, examples: list[float]) -> None:
    p, n, z = statistics.mean(examples), 15, scipy.stats.norm.ppf(0.975)
    se = statistics.stdev(examples) / math.sqrt(5)
    effect = n * se**2 / (p * (1 - p))
    w = DISAGREEING / (DISAGREEING + 15)
    worth = n / ((1 - w) * 3 + w * max(effect, 1))
    middle, scale = p + z**2 / (2 * worth), 1 + z**2 / worth
    half = z * math.sqrt(p * (1 - p) / worth + z**2 / (4 * worth**2))
    ends = [(middle - half) / scale, (middle + half) / scale]
    reported = {"p": [p], "SE": [se], "w": [w], "n_eff": [worth], "low, high": ends}
    for name, values in reported.items():
        assert row(name, column) == pytest.approx(values, abs=5.1e-5), name
    assert row("n SE² / (p (1 - p))", column)[0] == pytest.approx(effect, abs=5.1e-5)


def test_the_table_is_what_a_run_of_these_rewards_shows() -> None:
    mean, rate = mean_of(FIVE), five()
    assert [mean.low, mean.high] == pytest.approx(row("low, high", 0), abs=5.1e-5)
    assert mean.weight == pytest.approx(row("n_eff", 0)[0], abs=5.1e-5)
    assert list(rate.all_interval) == pytest.approx(row("low, high", 1), abs=5.1e-5)
    assert rate.all_weight == pytest.approx(row("n_eff", 1)[0], abs=5.1e-5)


def test_the_interval_of_any_rewards_is_as_reported() -> None:
    words = " ".join(SECTION.split())
    t = scipy.stats.t.ppf(0.975, 2)
    assert f"t is {t:.4f}" in words
    assert f"from {0.4 - t * 0.1:.4f}, which is cut off at 0, to {0.4 + t * 0.1:.4f}" in words
    mean = mean_of([[0.2, 0.4], [0.3, 0.9], [0.5, 0.1]])
    assert (mean.low, mean.high) == (0.0, pytest.approx(0.4 + t * 0.1, abs=1e-9))

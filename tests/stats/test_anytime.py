"""The anytime-valid interval against its formula, and what looking at any time costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tui_eval.stats.intervals import AnytimeInterval
from tui_eval.stats.mean import wilson

STEPS, RUNS = 500, 300

Values = NDArray[np.float64]


def by_the_formula(x: Values) -> tuple[Values, Values]:
    """Every interval up to each step, from sums over all steps before it."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    mean_before = np.concatenate([[0.5], mean[:-1]])
    variance_before = np.concatenate([[0.25], variance[:-1]])
    bets = np.minimum(np.sqrt(2 * math.log(40) / (variance_before * t * np.log(1 + t))), 0.5)
    losses = 4 * (x - mean_before) ** 2 * (-np.log(1 - bets) - bets) / 4
    middle = np.cumsum(bets * x) / np.cumsum(bets)
    half = (math.log(40) + np.cumsum(losses)) / np.cumsum(bets)
    low = np.maximum.accumulate(np.maximum(middle - half, 0.0))
    return low, np.minimum.accumulate(np.minimum(middle + half, 1.0))


def intervals(x: Values) -> tuple[Values, Values]:
    interval, found = AnytimeInterval(), []
    for value in x:
        interval.add(float(value))
        found.append((interval.low, interval.high))
    return np.array(found).T[0], np.array(found).T[1]


def samples(name: str, size: tuple[int, ...]) -> tuple[float, Values]:
    """A true mean, and values of that mean; the seed is the name's."""
    random = np.random.default_rng(sum(map(ord, name)))
    if name == "beta":
        return 0.4, random.beta(2, 3, size)
    return float(name), (random.random(size) < float(name)).astype(float)


@pytest.mark.parametrize("name", ["0.5", "0.8", "0.95", "beta"])
def test_intervals_are_those_of_the_formula(name: str) -> None:
    _, x = samples(name, (STEPS,))
    expected, found = by_the_formula(x), intervals(x)
    assert found[0] == pytest.approx(expected[0], abs=1e-9)
    assert found[1] == pytest.approx(expected[1], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["0.5", "0.8", "0.95", "beta"])
def test_at_most_one_run_in_twenty_misses_the_mean_at_any_time(name: str) -> None:
    mean, runs = samples(name, (RUNS, STEPS))
    missed = 0
    for x in runs:
        low, high = intervals(x)
        missed += bool(np.any((low > mean) | (high < mean)))
    assert missed / RUNS <= 0.05


def test_an_interval_for_one_look_misses_far_more_often_where_it_is_looked_at_always() -> None:
    mean, runs = samples("0.8", (RUNS, STEPS))
    passed = np.cumsum(runs, axis=1)
    missed = sum(
        any(not low <= mean <= high for low, high in map(wilson, row, range(1, STEPS + 1)))
        for row in passed
    )
    assert missed / RUNS > 0.15


def test_of_nothing_it_is_the_whole_range() -> None:
    interval = AnytimeInterval()
    assert (interval.n, interval.mean, interval.low, interval.high) == (0, None, 0.0, 1.0)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_what_is_outside_the_range_has_no_interval(value: float) -> None:
    interval = AnytimeInterval()
    assert not interval.fits(value) and interval.fits(0.7 + 0.2 + 0.1 + 1e-12)
    with pytest.raises(ValueError, match="from 0 to 1"):
        interval.add(value)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_it_only_shrinks_and_is_never_empty(values: list[float]) -> None:
    interval, before = AnytimeInterval(), 1.0
    for value in values:
        interval.add(value)
        assert 0.0 <= interval.low < interval.high <= 1.0
        assert interval.high - interval.low <= before
        before = interval.high - interval.low


def test_values_that_refute_what_was_seen_leave_an_interval() -> None:
    interval = AnytimeInterval()
    for value in [0.0] * 300 + [1.0] * 3000:
        interval.add(value)
    assert interval.low < interval.high

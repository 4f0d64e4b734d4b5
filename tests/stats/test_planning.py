"""What a comparison needs, against numpy and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from tui_eval.stats.power import (
    Need,
    measured_unlike,
    needs,
    spread_of,
    unlike,
)


def drawn(groups: int, each: int, between: float, within: float) -> list[list[float]]:
    rng = np.random.default_rng(5)
    levels = 0.5 + math.sqrt(between) * rng.standard_normal(groups)
    noise = math.sqrt(within) * rng.standard_normal((groups, each))
    return [list(row) for row in levels[:, None] + noise]


def test_a_spread_is_taken_apart_into_examples_and_rollouts() -> None:
    values = drawn(4000, 3, 0.04, 0.09)
    found = spread_of(values)
    assert found is not None and found.within is not None
    assert found.within == pytest.approx(float(np.var(values, axis=1, ddof=1).mean()))
    means = np.mean(values, axis=1)
    assert found.between == pytest.approx(float(np.var(means, ddof=1)) - found.within / 3)
    assert (found.between, found.within) == pytest.approx((0.04, 0.09), rel=0.1)


def test_unequal_examples_count_by_their_rollouts() -> None:
    found = spread_of([[1.0, 0.0], [1.0], [], [0.0, 0.0, 1.0]])
    assert found is not None
    assert found.groups == 3
    assert found.within == pytest.approx((0.5 + 2 / 3) / 3)
    assert found.per_rollout == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)


@pytest.mark.parametrize("groups", [[], [[1.0, 0.0]], [[1.0], []]])
def test_one_example_says_nothing(groups: list[list[float]]) -> None:
    assert spread_of(groups) is None


def by_scipy(sd: float, detect: float) -> int:
    for n in range(6, 100_000):
        t = scipy.stats.t(n - 1)
        if (t.ppf(0.975) + t.ppf(0.8)) * sd / math.sqrt(n) <= detect:
            return n
    raise AssertionError


def test_needs_are_those_of_the_formula() -> None:
    spread = spread_of(drawn(40, 4, 0.04, 0.09))
    assert spread is not None and spread.within is not None
    true = unlike(spread, 0.5)
    assert true == pytest.approx(spread.between)
    found = {need.each: need for need in needs(spread, spread, true, 0.1)}
    assert list(found) == [1, 2, 4, 8, 16]
    for each in (1, 4, 16):
        expected = by_scipy(math.sqrt(true + 2 * spread.within / each), 0.1)
        assert found[each] == Need(each, expected)
        assert found[each].rollouts == each * expected


def test_without_a_second_rollout_all_of_the_spread_is_chance() -> None:
    spread = spread_of([[value] for (value,) in drawn(30, 1, 0.04, 0.09)])
    assert spread is not None
    (only,) = needs(spread, spread, unlike(spread, 0.9), 0.1)
    assert only == Need(1, by_scipy(math.sqrt(2 * spread.total), 0.1))


def test_two_pilots_measure_how_alike_they_are() -> None:
    values = drawn(3000, 4, 0.04, 0.09)
    rng = np.random.default_rng(6)
    levels = np.mean(values, axis=1)[:, None]
    other = (levels + math.sqrt(0.09) * rng.standard_normal((3000, 4))).tolist()
    first, second = spread_of(values), spread_of(other)
    assert first is not None and second is not None
    differences = float(np.var(np.mean(values, axis=1) - np.mean(other, axis=1), ddof=1))
    assert measured_unlike(first, second, differences) < 0.01, "they are of the same levels"

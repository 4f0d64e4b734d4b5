"""Quantiles and histograms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.shape import GREATEST, histogram, quantile

DOUBLING = [0.1 * 2**i for i in range(10)]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 2.4), (0.9, 28.16), (0.95, 39.68), (0.99, 48.896)]
)
def test_quantiles_are_interpolated_linearly(share: float, expected: float) -> None:
    assert quantile(DOUBLING, share) == pytest.approx(expected, abs=1e-9)


def test_no_values_have_no_quantile_and_an_empty_histogram() -> None:
    assert quantile([], 0.5) is None
    assert histogram([], 4) == ([0, 0, 0, 0], 0.0, 1.0)


def test_rewards_from_0_to_1_have_the_bounds_0_and_1() -> None:
    assert histogram([0.5, 0.5, 1.0], 2) == ([0, 3], 0.0, 1.0)


def test_other_values_have_bounds_of_their_own() -> None:
    assert histogram([-1.0, 3.0, 3.0], 2) == ([1, 2], -1.0, 3.0)


@given(st.lists(st.floats(), max_size=30), st.integers(1, 12))
def test_every_number_is_counted_once(values: list[float], bins: int) -> None:
    counts, low, high = histogram(values, bins)
    finite = [value for value in values if abs(value) < GREATEST]
    assert len(counts) == bins
    assert sum(counts) == len(finite)
    assert low < high
    assert all(low <= value <= high for value in finite)


@pytest.mark.parametrize("value", [1e17, -1e17, 1e299, 5e-324])
def test_one_value_of_any_size_has_a_histogram(value: float) -> None:
    counts, low, high = histogram([value], 3)
    assert sum(counts) == 1
    assert low <= value < high

"""Histograms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.quantiles import GREATEST, histogram


def test_no_values_have_an_empty_histogram() -> None:
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


def test_a_sum_of_decimals_lands_where_the_decimal_does() -> None:
    assert 0.7 + 0.2 < 0.9
    assert histogram([0.7 + 0.2, 0.9, 0.05 + 0.1, 0.15, 1.0], 20)[0][3::15] == [2, 2]


@given(st.integers(-50, 50), st.integers(1, 100), st.lists(st.integers(0, 100)), st.integers(1, 25))
def test_a_bin_has_its_lower_edge_and_not_its_upper_one(
    low: int, size: int, steps: list[int], bins: int
) -> None:
    tenths = [low, low + size, *(low + step for step in steps if step < size)]
    values = [low / 10, (low + size) / 10, *((one - 7) / 10 + 0.7 for one in tenths[2:])]
    if low >= 0 and low + size <= 10:
        low, size = 0, 10
    expected = [0] * bins
    for value in tenths:
        expected[min((value - low) * bins // size, bins - 1)] += 1
    assert histogram(values, bins)[0] == expected

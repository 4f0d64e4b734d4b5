"""Which rewards are equal, which pass, and which are no number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.rewards import (
    GREATEST,
    TOLERANCE,
    are_equal,
    is_equal,
    is_number,
    passes,
    rounded,
)

ROUNDED = 0.7 + 0.2 + 0.1


def test_a_sum_that_rounding_left_below_one_is_one() -> None:
    assert ROUNDED < 1.0
    assert passes(ROUNDED, 1.0) and is_equal(ROUNDED, 1.0) and rounded(ROUNDED) == 1.0
    assert rounded(0.1 + 0.2 - 0.3) == 0.0 and rounded(0.4) == 0.4
    assert not passes(1 - 2 * TOLERANCE, 1.0)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 1e308, -1e308, 10**400, -(10**400)]
)
def test_what_no_mean_can_hold_is_no_number(value: Any) -> None:
    assert not is_number(value)


@given(st.floats(-GREATEST, GREATEST))
def test_every_number_is_equal_to_itself_and_passes_at_itself(value: float) -> None:
    assert is_number(value) and math.isfinite(value * value)
    assert is_equal(value, value) and passes(value, value)


@given(st.lists(st.floats(-3, 3) | st.sampled_from([0.0, 1.0, ROUNDED])), st.floats(-3, 3))
def test_a_whole_column_is_judged_as_each_of_its_values(values: list[float], one: float) -> None:
    for other in (one, 1.0):
        found = are_equal(np.array([*values, math.nan]), other).tolist()
        assert found == [*(is_equal(value, other) for value in values), False]

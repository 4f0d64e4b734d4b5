"""Comparison of rewards: which are equal, which pass, and which are numbers."""

from __future__ import annotations

import math

from tui_eval.stats.arrays import np

TOLERANCE = 1e-9
"""Rewards that are no further apart are equal; above 1 this is a share of the greater one."""
DIGITS = 9
"""Decimals of `TOLERANCE`."""
ROUNDING = 1e-13
"""A sum of squares that is so small a share of its parts is what rounding left of 0."""

GREATEST = 1e100
"""The greatest size of a reward that goes into a mean: its square is still a finite float."""


def is_number(value: float) -> bool:
    """Whether a value goes into means: finite, and no greater than `GREATEST` either way."""
    return -GREATEST <= value <= GREATEST  # NaN is neither


def is_equal(one: float, other: float) -> bool:
    """Whether two values are equal but for the rounding of sums."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def are_equal(values: np.ndarray, other: float) -> np.ndarray:
    """Whether each value is equal to another one, as `is_equal` has it; NaN is to none."""
    with np.errstate(over="ignore"):
        near: np.ndarray = np.abs(values - other) <= TOLERANCE * np.maximum(
            np.maximum(np.abs(values), abs(other)), 1.0
        )
    return near


def passes(reward: float, threshold: float) -> bool:
    """Whether a reward reaches a threshold: 0.7 + 0.2 + 0.1 reaches 1."""
    return reward >= threshold or is_equal(reward, threshold)


def rounded(value: float) -> float:
    """0 or 1 where a value is equal to one of them, else the value itself."""
    nearest = 1.0 if value > 0.5 else 0.0
    return nearest if abs(value - nearest) <= TOLERANCE else value

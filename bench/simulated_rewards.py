"""Rewards that are drawn: examples differ, and rollouts of one example are alike."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

SKEW = 3
"""Continuous rewards are a uniform number to this power: many are small, a few near 1."""


def example_levels(
    rng: np.random.Generator, runs: int, groups: int, mean: float, alike: float
) -> np.ndarray:
    """The chance to pass of each example, shape (runs, groups): beta with this mean.

    Args:
        alike: Intraclass correlation of rollouts of one example, 0 to below 1.
    """
    if not alike:
        return np.full((runs, groups), mean)
    size = (1 - alike) / alike
    return rng.beta(mean * size, (1 - mean) * size, size=(runs, groups))


def passes_of(rng: np.random.Generator, levels: np.ndarray, each: int) -> np.ndarray:
    """Number of `each` rollouts that pass, shape (runs, groups)."""
    return rng.binomial(each, levels)


def two_of_continuous(
    rng: np.random.Generator, runs: int, groups: int, each: int, alike: float
) -> tuple[np.ndarray, np.ndarray]:
    """Example means of continuous rewards in two runs of one model, each shape (runs, groups)."""
    level = np.sqrt(alike) * rng.standard_normal((runs, groups, 1))
    found = []
    for _ in range(2):
        values = level + np.sqrt(1 - alike) * rng.standard_normal((runs, groups, each))
        found.append((ndtr(values) ** SKEW).mean(axis=2))
    return found[0], found[1]

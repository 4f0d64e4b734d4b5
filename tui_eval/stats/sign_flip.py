"""The sign-flip test: how often differences as great as these come about by chance alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MOST_EXACT = 16
"""So many differences that are not 0 are flipped in every way, more in so many random ones:"""
FLIPS = 100_000
SEED = 20_260_101
TIE = 1e-12
"""Means that are no further apart are equal, as a share of the greatest difference above 1."""
FEW = 64
"""So many sizes of differences are drawn as counts of signs, more sign by sign."""


def sign_flip(differences: np.ndarray, flips: int = FLIPS, seed: int = SEED) -> tuple[float, bool]:
    """Chance of a mean at least as far from 0 where the sign of each difference is chance.

    The randomisation test of Fisher 1935 for pairs, two-sided. What is 0 has no sign to flip. Where
    flips are drawn the chance is (1 + as great ones) / (1 + flips), which is never too small
    (Phipson and Smyth 2010).

    Args:
        differences: One number an example, shape (examples,).
        flips: How many are drawn where there are too many differences for all.

    Returns:
        The chance, and whether all ways were looked at.
    """
    import numpy as np

    sizes = np.abs(differences)
    tie = TIE * max(1.0, float(sizes.max(initial=0.0)))
    there = sizes > tie
    sizes, least = sizes[there], abs(float(differences.sum())) - tie * max(len(differences), 1)
    if len(sizes) <= MOST_EXACT:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate((sums + size, sums - size))
        return float(np.mean(np.abs(sums) >= least)), True
    sums = _drawn(sizes, flips, np.random.default_rng(seed))
    return float((1 + np.count_nonzero(np.abs(sums) >= least)) / (1 + flips)), False


def _drawn(sizes: np.ndarray, flips: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of the sizes with random signs, shape (flips,)."""
    import numpy as np

    sums = np.zeros(flips)
    values, counts = np.unique(np.round(sizes, 12), return_counts=True)
    if len(values) <= FEW:
        for value, count in zip(values, counts, strict=True):
            sums += value * (2.0 * rng.binomial(count, 0.5, flips) - count)
        return sums
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    padded = np.concatenate((sizes, np.zeros(-len(sizes) % 8))).reshape(-1, 8)
    for eight in padded:
        sums += (signs @ eight)[rng.integers(0, 256, flips, dtype=np.uint8)]
    return sums

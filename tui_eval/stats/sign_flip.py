"""The sign-flip test: how often differences as great as these come about by chance alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tui_eval.stats.arrays import np

MOST_EXACT = 16
"""The most differences other than 0 that are flipped in every way; more in `FLIPS` random ones."""
FLIPS = 100_000
SEED = 20_260_101
TIE = 1e-12
"""Means that are no further apart are equal, as a share of the greatest difference above 1."""
AS_COUNTS = 500
"""Drawing how many of one size are positive costs as much as the signs of so many differences."""
GREATEST = 2**31 - 1
"""Sizes become whole numbers whose sum is no greater: 32 bits are added fast, and exactly."""
SURE = 6
"""Sums are taken as so many standard errors of that rounding greater: no chance is too small."""
AT_ONCE, EIGHTS = 5_000, 256
"""Flips, and eights of differences, that are drawn at once: enough for speed, little to hold."""


def sign_flips(tests: Sequence[np.ndarray], flips: int = FLIPS) -> list[tuple[float, bool]]:
    """Chances of a mean at least as far from 0 where the sign of each difference is chance.

    The randomisation test of Fisher 1935 for pairs, two-sided. What is 0 has no sign to flip. Where
    flips are drawn the chance is (1 + as great ones) / (1 + flips), which is never too small
    (Phipson and Smyth 2010). Several tests share what is drawn: that is far less work.

    Args:
        tests: The differences of each, one number an example, shape (examples,).
        flips: How many are drawn where there are too many differences for all.

    Returns:
        The chance of each, and whether all ways were looked at.
    """
    found: dict[int, tuple[float, bool]] = {}
    drawn: list[tuple[int, np.ndarray, float]] = []
    for place, differences in enumerate(tests):
        sizes = np.abs(differences)
        tie = TIE * max(1.0, float(sizes.max(initial=0.0)))
        least = abs(float(differences.sum())) - tie * max(len(differences), 1)
        sizes = sizes[sizes > tie]
        values, counts = np.unique(np.round(sizes, 12), return_counts=True)
        if len(sizes) <= MOST_EXACT:
            found[place] = float(np.mean(np.abs(_all_sums(sizes)) >= least)), True
        elif len(values) * AS_COUNTS <= len(sizes):
            sums = _sums_by_count(values, counts, flips, np.random.default_rng(SEED))
            found[place] = _chance(sums, least), False
        else:
            drawn.append((place, sizes, least))
    if drawn:
        scales = [(GREATEST - len(sizes)) / float(sizes.sum()) for _, sizes, _ in drawn]
        whole = [np.rint(one[1] * scale) for one, scale in zip(drawn, scales, strict=True)]
        sums = _sums(whole, flips, np.random.default_rng(SEED))
        for (place, sizes, least), scale, column in zip(drawn, scales, sums.T, strict=True):
            rounding = SURE * math.sqrt(len(sizes)) / 2
            found[place] = _chance(column, least * scale - rounding), False
    return [found[place] for place in range(len(tests))]


def _chance(sums: np.ndarray, least: float) -> float:
    return float((1 + np.count_nonzero(np.abs(sums) >= least)) / (1 + len(sums)))


def _all_sums(sizes: np.ndarray) -> np.ndarray:
    """Sums with every choice of signs, shape (2^sizes,)."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums + size, sums - size))
    return sums


def _sums_by_count(
    values: np.ndarray, counts: np.ndarray, flips: int, rng: np.random.Generator
) -> np.ndarray:
    """Sums with random signs of sizes that come often, shape (flips,)."""
    sums = np.zeros(flips)
    for value, count in zip(values, counts, strict=True):
        sums += value * (2.0 * rng.binomial(count, 0.5, flips) - count)
    return sums


def _sums(tests: Sequence[np.ndarray], flips: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of the sizes of each test, whole numbers, with random signs, shape (flips, tests).

    Eight sizes at a time: all 256 sums that they can have are looked up by a random byte.
    """
    eights = -(-max(map(len, tests)) // 8)
    padded = np.zeros((eights, 8, len(tests)))
    for column, sizes in enumerate(tests):
        padded.reshape(-1, len(tests))[: len(sizes), column] = sizes
    signs = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    sums = np.zeros((flips, len(tests)), dtype=np.int32)
    for first in range(0, eights, EIGHTS):
        tables = (signs @ padded[first : first + EIGHTS]).astype(np.int32)
        for start in range(0, flips, AT_ONCE):
            some = sums[start : start + AT_ONCE]
            found = np.empty_like(some)
            drawn = rng.integers(0, 256, (len(tables), len(some)), dtype=np.uint8)
            for table, chosen in zip(tables, drawn, strict=True):
                some += np.take(table, chosen, axis=0, out=found, mode="clip")
    return sums

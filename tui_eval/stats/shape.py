"""The shape of many values: histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

GREATEST = 1e300
"""Differences of greater numbers can be too great for a float."""
PLACES = 9
"""Decimals of a bin by which values are told apart: sums of decimals are a little off."""


def histogram(values: Sequence[float] | np.ndarray, bins: int) -> tuple[list[int], float, float]:
    """Counts of values in equal bins, and the bounds of the whole.

    A bin has its lower edge and not its upper one, but for the last; so have decimals that no float
    is equal to, as 0.7 + 0.2 at 0.9.
    Values between 0 and 1 get the bounds 0 and 1, so that rewards of two runs look alike; other
    values their own least and greatest. NaN and what is beyond `GREATEST` are left out. No values:
    zero counts from 0 to 1.
    """
    import numpy as np

    finite = np.asarray(values, dtype=float)
    finite = finite[np.abs(finite) < GREATEST]
    if not len(finite):
        return [0] * bins, 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - max(0.5, abs(low) / 2), high + max(0.5, abs(high) / 2)
    places = np.round((finite - low) / (high - low) * bins, PLACES).astype(int)
    counts = np.bincount(np.minimum(places, bins - 1), minlength=bins)
    return [int(count) for count in counts], low, high

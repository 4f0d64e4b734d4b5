"""The shape of many values: histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

GREATEST = 1e300
"""Differences of greater numbers can be too great for a float."""


def histogram(values: Sequence[float] | np.ndarray, bins: int) -> tuple[list[int], float, float]:
    """Counts of values in equal bins, and the bounds of the whole.

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
    counts, _ = np.histogram(finite, bins=bins, range=(low, high))
    return [int(count) for count in counts], low, high

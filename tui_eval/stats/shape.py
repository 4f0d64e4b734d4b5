"""The shape of many values: quantiles and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def quantile(values: Sequence[float] | np.ndarray, share: float) -> float | None:
    """The value below which a share (0 to 1) lies, interpolated linearly; None for no values."""
    import numpy as np

    return float(np.quantile(values, share)) if len(values) else None


def histogram(values: Sequence[float] | np.ndarray, bins: int) -> tuple[list[int], float, float]:
    """Counts of values in equal bins, and the bounds of the whole.

    Values between 0 and 1 get the bounds 0 and 1, so that rewards of two runs look alike; other
    values their own least and greatest. NaN is left out. No values: zero counts from 0 to 1.
    """
    import numpy as np

    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return [0] * bins, 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low == high:
        high = low + max(1.0, abs(low))
    if not np.isfinite(high - low):  # halves of the greatest numbers are as far apart as can be
        finite = finite / 2
        counts, _ = np.histogram(finite, bins=bins, range=(low / 2, high / 2))
        return [int(count) for count in counts], low, high
    counts, _ = np.histogram(finite, bins=bins, range=(low, high))
    return [int(count) for count in counts], low, high

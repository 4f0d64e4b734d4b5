"""The difference of two runs from the rewards of their examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tui_eval.stats.paired import PairedDifference, Pairs, paired_differences


def paired_difference(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    *,
    single: bool = False,
    scale: float | None = None,
) -> PairedDifference:
    """The mean of `first - second`, pair by pair; see `Pairs`."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return paired_differences([Pairs(one, other, single, scale)])[0]

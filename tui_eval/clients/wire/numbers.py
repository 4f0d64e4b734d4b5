"""Numbers of servers, finite and within bounds; others count as missing."""

from __future__ import annotations

import math
from typing import Any

MOST_TOKENS = 10**9
"""Tokens of one answer; a server that says more does not count them."""
_LONGEST = 40
"""Characters of a number that is sent as text."""


def count_of(value: Any) -> int:
    """A count of tokens; 0 for what is none: negative, endless, no number, or beyond belief."""
    if type(value) is int:
        return value if 0 <= value <= MOST_TOKENS else 0
    if value is None:
        return 0
    number = finite(value)
    return int(number) if number is not None and 0 <= number <= MOST_TOKENS else 0


def finite(value: Any) -> float | None:
    """A finite number, also one that is sent as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _LONGEST:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None

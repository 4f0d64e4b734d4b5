"""Pictures made of block characters: bars and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LEFT = " ▏▎▍▌▋▊▉█"
_LOW = " ▁▂▃▄▅▆▇█"


def bar(share: float, width: int) -> str:
    """A bar from the left, exact to an eighth of a cell, padded with spaces to `width`.

    Args:
        share: Filled share of the width; cut to 0 to 1. NaN draws nothing.
    """
    if math.isnan(share):
        return " " * width
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0 and eighths == 0:
        eighths = 1
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_LEFT[rest] if rest else "")).ljust(width)


def thread(share: float, width: int) -> tuple[str, str]:
    """A bar as a thin line, exact to half a cell, and the rest of its way.

    Args:
        share: Filled share of the width; cut to 0 to 1.
    """
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    full, half = divmod(halves, 2)
    drawn = "━" * full + "╸" * half
    return drawn, "─" * (width - len(drawn))


def columns(
    values: Sequence[float], height: int, cells: int = 1, most: float | None = None
) -> list[str]:
    """Upright bars as text, top line first, `height` lines of `cells` characters a bar.

    Any value above 0 is at least an eighth of a line high; none is below.

    Args:
        most: Value at the top; the greatest one by default.
    """
    most = max(values, default=0) if most is None else most
    if most <= 0:
        return [" " * (len(values) * cells)] * height
    levels = [max(round(value / most * height * 8), 1) if value > 0 else 0 for value in values]
    return [
        "".join(_LOW[min(max(level - 8 * row, 0), 8)] * cells for level in levels)
        for row in reversed(range(height))
    ]

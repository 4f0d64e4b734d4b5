"""Where a line of two trajectories is found again when they are laid out otherwise."""

from __future__ import annotations

from typing import TypeAlias

from tui_eval.tui.compare.side_by_side import Spot, Two, spots_of

Shape: TypeAlias = tuple[Two, int, bool, dict[int, int]]
"""What blocks are laid out from: two rollouts, width, whether beside each other, limits by unit."""
Place: TypeAlias = tuple[int, int, Spot | None]
"""A unit, a line of it, and what that line begins with, if that is anybody's text."""


def place_of(shape: Shape, unit: int, line: int) -> Place:
    """A line of a unit, with what it or the nearest one above begins with."""
    above = [(at, -spot[0], spot) for at, spot in _spots(shape, unit) if at <= line]
    return unit, line, max(above)[-1] if above else None


def line_of(shape: Shape, place: Place) -> int:
    """The line of the unit that is at a place; of a side that is not told, the other one's."""
    unit, line, spot = place
    if spot is None:
        return line
    side, text, offset = spot
    above = [
        (one[0] == side, one[1:], at)
        for at, one in _spots(shape, unit)
        if one[1] == text and one[2] <= offset
    ]
    return max(above)[-1] if above else line


def _spots(shape: Shape, unit: int) -> list[tuple[int, Spot]]:
    two, width, beside, limits = shape
    return spots_of(two, two.units[unit], limits.get(unit), width, beside)

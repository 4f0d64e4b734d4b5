"""What two trajectories are laid out from, and where a line is found again in another shape."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeAlias

from tui_eval.tui.compare.side_by_side import Block, Spot, Two, block_of, spots_of

Place: TypeAlias = tuple[int, int, Spot | None]
"""A unit, a line of it, and what that line begins with, if that is anybody's text."""


class Shape(NamedTuple):
    """Two rollouts, width, whether they stand beside each other, and limits as `block_of` takes
    them, by unit."""

    two: Two
    width: int
    beside: bool
    limits: Mapping[int, int]

    @property
    def keys(self) -> list[Hashable]:
        """What determines the block of each unit."""
        units = range(len(self.two.units))
        return [(at, self.limits.get(at), self.width, self.beside) for at in units]

    def block(self, unit: int, marks: bool = False) -> Block:
        """A unit laid out; see `block_of`."""
        of_unit = (self.two.units[unit], self.limits.get(unit))
        return block_of(self.two, *of_unit, self.width, self.beside, marks)

    def blocks(self, made: Mapping[Hashable, Block]) -> dict[Hashable, Block]:
        """The blocks of all units, in their order; those that were made before as they are."""
        return {key: made.get(key) or self.block(at) for at, key in enumerate(self.keys)}

    def place_of(self, unit: int, line: int) -> Place:
        """A line of a unit, with what it or the nearest one above begins with."""
        above = [(at, -spot[0], spot) for at, spot in self._spots(unit) if at <= line]
        return unit, line, max(above)[-1] if above else None

    def line_of(self, place: Place) -> int:
        """The line of the unit that is at a place; of a side that is not told, the other one's."""
        unit, line, spot = place
        if spot is None:
            return line
        side, text, offset = spot
        above = [
            (one[0] == side, one[1:], at)
            for at, one in self._spots(unit)
            if one[1] == text and one[2] <= offset
        ]
        return max(above)[-1] if above else line

    def _spots(self, unit: int) -> list[tuple[int, Spot]]:
        of_unit = (self.two.units[unit], self.limits.get(unit))
        return spots_of(self.two, *of_unit, self.width, self.beside)

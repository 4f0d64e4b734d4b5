"""What two trajectories are shown as beside each other: heads of turns, and pairs of entries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from tui_eval.fold.alignment import Alignment
    from tui_eval.fold.trajectory import Entry, Rollout


class Unit(msgspec.Struct, frozen=True):
    """What is laid out, selected and folded as one: a turn's head, or one entry of each side.

    Args:
        turn: Its turn's place in the alignment; the ending has the one after the last.
        first, second: None where a side has nothing here, and for a head.
        differs: Whether the sides are not the same here.
        is_apart: Whether a blank line follows: none stands before a tool call.
    """

    turn: int
    first: Entry | None = None
    second: Entry | None = None
    differs: bool = False
    is_apart: bool = False
    is_head: bool = False
    is_ending: bool = False

    @property
    def is_tool(self) -> bool:
        """Whether there is a tool call on a side."""
        return any(one is not None and one.tool is not None for one in (self.first, self.second))

    @property
    def has_changes(self) -> bool:
        """Whether the sides have texts here that are not the same."""
        return self.differs and None not in (self.first, self.second)

    @property
    def starts_unfolded(self) -> bool:
        """Whether there are tool calls or prompts to be compared, so that all is shown of them."""
        is_prompt = self.first is not None and self.first.turn == 0
        return self.has_changes and (self.is_tool or is_prompt)


class Two(msgspec.Struct, frozen=True):
    """Two rollouts, aligned, the units that they are shown as, and the letters of the sides."""

    first: Rollout
    second: Rollout
    alignment: Alignment
    units: list[Unit]
    letters: tuple[str, str]

    @property
    def stops(self) -> list[int]:
        """The heads of the turns that differ."""
        return [at for at, one in enumerate(self.units) if one.is_head and one.differs]

    @property
    def differing(self) -> str:
        """How many turns differ, in words; the prompt is none of them and told by its name."""
        found = [one.turn for one in self.alignment.turns if one.differs_at is not None]
        answers = sum(one.turn > 0 for one in self.alignment.turns)
        turns = f"{sum(turn > 0 for turn in found):,} of {answers:,} turns"
        if 0 in found:
            return f"prompt and {turns} differ"
        return f"{turns} differ" if found else "= both are the same"

    @property
    def parting(self) -> int | None:
        """The place of the first turn that differs: of an answer, if one does, else the prompt."""
        turns = self.alignment.turns
        answers = (at for at, one in enumerate(turns) if one.turn and one.differs_at is not None)
        return next(answers, self.alignment.divergence)


def two_of(first: Rollout, second: Rollout, letters: tuple[str, str]) -> Two:
    """Aligns two finished rollouts; takes long for long ones."""
    from tui_eval.fold.alignment import align

    alignment = align(first, second)
    return Two(first, second, alignment, list(_units(alignment)), letters)


def _units(alignment: Alignment) -> Iterator[Unit]:
    from tui_eval.fold.alignment import beside, same

    for place, turn in enumerate(alignment.turns):
        differs = turn.differs_at is not None
        yield Unit(place, differs=differs, is_head=True)
        units = [
            Unit(place, ours, theirs, differs and not same(ours, theirs))
            for ours, theirs in beside(turn.first, turn.second)
        ]
        for unit, after in zip_longest(units, units[1:]):
            yield replace(unit, is_apart=after is None or not after.is_tool)
    yield Unit(len(alignment.turns), is_ending=True)

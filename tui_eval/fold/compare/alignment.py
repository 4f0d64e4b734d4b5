"""Alignment of two trajectories, turn by turn, with their differences to the word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tui_eval.fold.trajectory import Entry, Rollout

Range: TypeAlias = tuple[int, int]
"""The first character and the one after the last."""

LONGEST = 4000
MOST_WORK = 10_000
"""Pairs of equal words in two texts: more take longer than a frame."""
LEAST_ALIKE = 1 / 3
"""Share of the shorter text: with less in common every word would be marked."""
FEW = 5
"""Words from which on nothing is marked where that would be every one."""

_WORD = re.compile(r"\w+|[^\w\s]+")
_ON_ONE_LINE = re.compile(r"\S(?:.*\S)?")


class AlignedTurn(msgspec.Struct, frozen=True):
    """One turn of both rollouts; turn 0 is the prompt."""

    turn: int
    first: list[Entry]
    second: list[Entry]
    """Its entries; empty where a rollout has no such turn."""
    differs_at: int | None
    """The place of the first entry that differs; None where none does."""


class Unit(msgspec.Struct, frozen=True):
    """Unit of layout, selection and folding: a turn's head, or one entry of each side.

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
        """Whether the sides have different texts here."""
        return self.differs and None not in (self.first, self.second)

    @property
    def starts_unfolded(self) -> bool:
        """Whether there are tool calls or prompts to be compared, so that all is shown of them."""
        is_prompt = self.first is not None and self.first.turn == 0
        return self.has_changes and (self.is_tool or is_prompt)


class Alignment(msgspec.Struct, frozen=True):
    """Two rollouts, all their turns, and the units that they are shown as."""

    first: Rollout
    second: Rollout
    turns: list[AlignedTurn]
    units: list[Unit]

    @property
    def divergence(self) -> int | None:
        """The place of the first turn that differs."""
        places = (place for place, one in enumerate(self.turns) if one.differs_at is not None)
        return next(places, None)

    @property
    def parting(self) -> int | None:
        """The place of the first turn that differs: of an answer, if one does, else the prompt."""
        answers = (
            at for at, one in enumerate(self.turns) if one.turn and one.differs_at is not None
        )
        return next(answers, self.divergence)

    @property
    def stops(self) -> list[int]:
        """The heads of the turns that differ."""
        return [at for at, one in enumerate(self.units) if one.is_head and one.differs]

    @property
    def differing(self) -> str:
        """The number of differing turns in words; the prompt is named by itself."""
        found = [one.turn for one in self.turns if one.differs_at is not None]
        answers = sum(one.turn > 0 for one in self.turns)
        turns = f"{sum(turn > 0 for turn in found):,} of {answers:,} turns"
        if 0 in found:
            return f"prompt and {turns} differ"
        return f"{turns} differ" if found else "= both are the same"


def align(first: Rollout, second: Rollout) -> Alignment:
    """Aligns two rollouts by turn: an answer of the model with its tool calls and their results.

    Reasoning is part of what is compared; spaces in the arguments of tool calls are not. Takes
    long for long ones.
    """
    sides = [_by_turn(first.entries()), _by_turn(second.entries())]
    turns = []
    for turn in sorted(sides[0].keys() | sides[1].keys()):
        ours, theirs = (side.get(turn, []) for side in sides)
        turns.append(AlignedTurn(turn, ours, theirs, _first_difference(ours, theirs)))
    return Alignment(first, second, turns, list(_units(turns)))


def _units(turns: Sequence[AlignedTurn]) -> Iterator[Unit]:
    for place, turn in enumerate(turns):
        differs = turn.differs_at is not None
        yield Unit(place, differs=differs, is_head=True)
        units = [
            Unit(place, ours, theirs, differs and not _same(ours, theirs))
            for ours, theirs in beside(turn.first, turn.second)
        ]
        for unit, after in zip_longest(units, units[1:]):
            yield replace(unit, is_apart=after is None or not after.is_tool)
    yield Unit(len(turns), is_ending=True)


def _by_turn(entries: Sequence[Entry]) -> dict[int, list[Entry]]:
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.turn, []).append(entry)
    return found


def _first_difference(first: Sequence[Entry], second: Sequence[Entry]) -> int | None:
    for place, (ours, theirs) in enumerate(zip(first, second, strict=False)):
        if not _same(ours, theirs):
            return place
    return None if len(first) == len(second) else min(len(first), len(second))


def beside(
    first: Sequence[Entry], second: Sequence[Entry]
) -> Iterator[tuple[Entry | None, Entry | None]]:
    """Entries of one turn in pairs of a kind; None where only one side has something there."""
    to_come = Counter(map(_kind, second))
    place = 0
    for ours in first:
        if not to_come[_kind(ours)]:
            yield ours, None
            continue
        while _kind(theirs := second[place]) != _kind(ours):
            yield None, theirs
            to_come[_kind(theirs)] -= 1
            place += 1
        yield ours, theirs
        to_come[_kind(theirs)] -= 1
        place += 1
    for theirs in second[place:]:
        yield None, theirs


def _kind(entry: Entry) -> tuple[str, bool]:
    return entry.role, entry.tool is not None


def _same(first: Entry | None, second: Entry | None) -> bool:
    """Whether two entries are equal; a missing one equals only a missing one."""
    if first is None or second is None:
        return first is second
    return _content(first) == _content(second)


def _content(entry: Entry) -> tuple[object, ...]:
    """The compared part of an entry: ids and times of tool calls are never the same."""
    tool = entry.tool
    used = None if tool is None else (tool.name, _plain(tool.arguments), tool.result)
    return entry.role, entry.text, entry.reasoning, used


def _plain(arguments: str) -> object:
    try:
        return msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return arguments


@lru_cache(maxsize=256)
def changed_words(first: str, second: str) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Places of words in each text that the other one lacks.

    None where the texts are too long for that, nor in one of many words where they have too
    little in common.
    """
    if first == second or max(len(first), len(second)) > LONGEST:
        return (), ()
    places = [[one.span() for one in _WORD.finditer(text)] for text in (first, second)]
    ours, theirs = (
        [text[start:end] for start, end in spans]
        for text, spans in zip((first, second), places, strict=True)
    )
    counts = Counter(theirs)
    if sum(counts[word] for word in ours) > MOST_WORK:
        return (), ()
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    alike = sum(block.size for block in matcher.get_matching_blocks())
    is_alike = alike >= LEAST_ALIKE * min(len(ours), len(theirs))
    changes = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    sides = (
        (first, places[0], [(start, end) for _, start, end, _, _ in changes]),
        (second, places[1], [(start, end) for _, _, _, start, end in changes]),
    )
    one, other = (tuple(_ranges(*side)) if is_alike or len(side[1]) < FEW else () for side in sides)
    return one, other


def _ranges(text: str, words: list[Range], changes: list[Range]) -> Iterator[Range]:
    """Changed words as characters of each line, those between which only signs stand as one:
    holes say nothing there."""
    found: list[Range] = []
    for first, after in changes:
        if first == after:
            continue
        start, end = words[first][0], words[after - 1][1]
        if found and not re.search(r"\w", text[found[-1][1] : start]):
            start, _ = found.pop()
        found.append((start, end))
    for start, end in found:
        yield from (one.span() for one in _ON_ONE_LINE.finditer(text, start, end))

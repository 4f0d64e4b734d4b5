"""Two trajectories beside each other, turn by turn, and where they first differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from tui_eval.fold.trajectory import Entry, Rollout


class AlignedTurn(msgspec.Struct, frozen=True):
    """One turn of both rollouts; turn 0 is the prompt."""

    turn: int
    first: list[Entry]
    second: list[Entry]
    """What happened in it; empty where a rollout has no such turn."""
    differs_at: int | None
    """The place of the first entry that is not the same in both; None where all are."""


class Alignment(msgspec.Struct, frozen=True):
    """All turns of two rollouts, and the place of the first one that differs."""

    turns: list[AlignedTurn]
    divergence: int | None


def align(first: Rollout, second: Rollout) -> Alignment:
    """Aligns two rollouts by turn: an answer of the model with its tool calls and their results.

    Reasoning is part of what is compared; spaces in the arguments of tool calls are not.
    """
    sides = [_by_turn(first.entries()), _by_turn(second.entries())]
    turns = []
    for turn in sorted(sides[0].keys() | sides[1].keys()):
        ours, theirs = (side.get(turn, []) for side in sides)
        turns.append(AlignedTurn(turn, ours, theirs, _first_difference(ours, theirs)))
    places = (place for place, one in enumerate(turns) if one.differs_at is not None)
    return Alignment(turns, next(places, None))


def _by_turn(entries: Sequence[Entry]) -> dict[int, list[Entry]]:
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.turn, []).append(entry)
    return found


def _first_difference(first: Sequence[Entry], second: Sequence[Entry]) -> int | None:
    for place, (ours, theirs) in enumerate(zip(first, second, strict=False)):
        if not same(ours, theirs):
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


def same(first: Entry | None, second: Entry | None) -> bool:
    """Whether two entries say the same; one that is not there says nothing."""
    if first is None or second is None:
        return first is second
    return _said(first) == _said(second)


def _said(entry: Entry) -> tuple[object, ...]:
    """What of an entry counts: ids and times of tool calls are never the same."""
    tool = entry.tool
    used = None if tool is None else (tool.name, _plain(tool.arguments), tool.result)
    return entry.role, entry.text, entry.reasoning, used


def _plain(arguments: str) -> object:
    try:
        return msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return arguments

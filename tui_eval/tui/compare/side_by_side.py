"""Two trajectories laid out together: pure functions from two aligned rollouts to lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len

from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut, letter_ink, line_width
from tui_eval.tui.compare.changed_words import with_changes
from tui_eval.tui.trajectory.piece import STEP, Piece, View
from tui_eval.tui.trajectory.rendering import (
    MEASURE,
    TEXT_LINES,
    TOOL_LINES,
    ending_piece,
    message_piece,
    tool_piece,
)

if TYPE_CHECKING:
    from tui_eval.fold.alignment import Alignment
    from tui_eval.fold.trajectory import Entry, Rollout

GUTTER = 3
"""Cells between the sides."""
MARGIN = 2
"""Cells before each side where one stands above the other."""

RAILS = ("│", "┆")
"""What the lines of a side have before them there: its ink may be that of the other."""

Spot: TypeAlias = tuple[int, int, int]
"""A side of a unit, the place of one of its texts, -1 for the head of them all, and a character."""


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


class Block(msgspec.Struct, frozen=True):
    """The lines of a unit, how many there are beyond them, and whether it can be folded.

    Args:
        parting: The first line in which the sides differ, or that says where they do.
        is_far: Whether they differ only in what is not shown.
    """

    lines: tuple[Line, ...]
    hidden: int = 0
    folds: bool = False
    parting: int = 0
    is_far: bool = False


class Two(msgspec.Struct, frozen=True):
    """Two rollouts, aligned, and the units that they are shown as.

    Args:
        letters: What the sides are called, one each.
    """

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

    def piece(self, unit: Unit, of_second: bool, limit: int | None, width: int) -> Piece | None:
        """What a side says in a unit; None where it says nothing."""
        rollout = self.second if of_second else self.first
        if unit.is_ending:
            return ending_piece(rollout, View(limit), width)
        entry = unit.second if of_second else unit.first
        if entry is None:
            return None
        if entry.tool is not None:
            return tool_piece(entry.tool, View(limit), width, False)
        turn = self.alignment.turns[unit.turn]
        side = turn.second if of_second else turn.first
        is_first = entry is side[0] and 0 < entry.turn <= len(rollout.steps)
        step = rollout.steps[entry.turn - 1] if is_first else None
        return message_piece(entry, step, View(limit), width)


def two_of(first: Rollout, second: Rollout, letters: tuple[str, str]) -> Two:
    """Aligns two finished rollouts; takes long for long ones.

    Args:
        letters: See `Two`.
    """
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


def block_of(
    two: Two, unit: Unit, limit: int | None, width: int, beside: bool, marks: bool = False
) -> Block:
    """A unit laid out.

    Args:
        limit: Lines of a text to show; None for what is usual, 0 for folded. What differs in a
            tool call or in the prompt is unfolded, and a text that differs in what is usually not
            shown.
        beside: Whether the sides stand beside each other, and not one above the other.
        marks: Whether the words are marked that differ: takes some milliseconds.
    """
    edge = _half(width) + GUTTER + MEASURE if beside else MARGIN + MEASURE
    if unit.is_head:
        return Block((_head(two, unit, min(width, edge)),))
    pieces, parting = _pieces(two, unit, limit, _side_width(width, beside))
    lay_out = _beside if beside else _above
    body = lay_out(two, unit, pieces, width, marks, -1 if parting is None else parting)
    if parting is not None:
        body = replace(body, parting=parting)
    elif limit != 0 and unit.differs:
        body = replace(body, lines=(_far_below(*pieces), *body.lines), is_far=True)
    if not unit.is_ending:
        return body
    rule = _rule((("──", "rule"), (" ending ", "muted")), min(width, edge))
    return replace(body, lines=(rule, *body.lines))


def _pieces(
    two: Two, unit: Unit, limit: int | None, width: int
) -> tuple[list[Piece | None], int | None]:
    """What both sides say, and the first line in which they part; None where it is not shown."""
    if limit is None and unit.starts_unfolded:
        limits: list[int | None] = [TOOL_LINES if unit.is_tool else TEXT_LINES]
    else:
        limits = [limit]
    if limit is None and unit.has_changes:
        limits += [TEXT_LINES, STEP]
    found = []
    for most in limits:
        found.append([two.piece(unit, side, most, width) for side in (False, True)])
        parting = _parting(*found[-1])
        if parting is not None:
            return found[-1], parting
    return found[0], None


def _far_below(ours: Piece | None, theirs: Piece | None) -> Line:
    """Where two pieces part, though that is not shown of them."""
    assert ours is not None and theirs is not None
    pairs = zip(ours.placed, theirs.placed, strict=False)
    texts = ((one.block.text, other.block.text) for one, other in pairs)
    first, second = next((one, other) for one, other in texts if one != other)
    lines = zip_longest(first.split("\n"), second.split("\n"))
    line = next(at for at, (one, other) in enumerate(lines, 1) if one != other)
    where, more = f"≠ at line {line:,} of the text", f"  {key_for('beside.unfold')} shows it"
    return ((where, "warn"), (more, "faint"))


def _parting(ours: Piece | None, theirs: Piece | None) -> int | None:
    """The first line in which two pieces differ, 0 without any; None where it is not shown."""
    if ours is None or theirs is None:
        return 0
    for one, other in zip(ours.placed, theirs.placed, strict=False):
        if one.block.name != other.block.name:
            return one.at
        lines = zip_longest(one.shown.lines, other.shown.lines)
        differing = next((at for at, (a, b) in enumerate(lines) if a != b), None)
        if differing is not None:
            return one.at + differing
        if one.block.text != other.block.text and (one.shown.rest or other.shown.rest):
            return None
    return 0


def spots_of(
    two: Two, unit: Unit, limit: int | None, width: int, beside: bool
) -> list[tuple[int, Spot]]:
    """With what each line begins of a unit that is laid out by these; a head has no such lines.

    Args:
        limit: See `block_of`.
    """
    if unit.is_head:
        return []
    pieces, parting = _pieces(two, unit, limit, _side_width(width, beside))
    start = int(unit.is_ending or (parting is None and limit != 0 and unit.differs))
    if not beside and not unit.differs and not unit.is_ending:
        pieces = pieces[:1]
    found: list[tuple[int, Spot]] = []
    for side, (piece, lines) in enumerate(zip(pieces, _sides(pieces, False), strict=True)):
        found.append((start, (side, -1, 0)))
        for text, placed in enumerate(piece.placed if piece is not None else ()):
            offsets = enumerate(placed.shown.offsets(), start + placed.at)
            found += [(line, (side, text, offset)) for line, offset in offsets]
        start += 0 if beside else len(lines)
    return found


def _side_width(width: int, beside: bool) -> int:
    return _half(width) if beside else width - MARGIN


def _half(width: int) -> int:
    return max((width - GUTTER) // 2, 8)


def _head(two: Two, unit: Unit, width: int) -> Line:
    turn = two.alignment.turns[unit.turn]
    name = f" turn {turn.turn} " if turn.turn else " prompt "
    spans: list[Span] = [("──", "rule"), (name, "strong" if unit.differs else "muted")]
    if not unit.differs:
        spans.append(("= the same ", "good"))
    elif unit.turn == two.parting:
        spans += [(" ≠ they part here ", "pill"), (" ", "")]
    else:
        spans.append(("≠ differs " if turn.first and turn.second else "≠ ", "warn"))
    if not turn.first or not turn.second:
        spans.append((f"only in {two.letters[bool(turn.second)]} ", "warn"))
    return _rule(tuple(spans), width)


def _rule(line: Line, width: int) -> Line:
    return (*line, ("─" * max(width - line_width(line), 0), "rule"))


def _beside(
    two: Two, unit: Unit, pieces: list[Piece | None], width: int, marks: bool, parting: int
) -> Block:
    half = _half(width)
    lines = []
    for at, (ours, theirs) in enumerate(zip_longest(*_sides(pieces, marks), fillvalue=EMPTY)):
        gutter: Span = (" │ ", "rule")
        if unit.differs:
            gutter = (" ≠ " if at == parting else " ┃ ", "warn")
        lines.append((*fitted(ours, half), gutter, *theirs))
    blank: Line = (*fitted(EMPTY, half), (" ┃ ", "warn") if unit.differs else (" │ ", "rule"))
    return _block([*lines, blank] if unit.is_apart else lines, pieces)


def _above(
    two: Two, unit: Unit, pieces: list[Piece | None], width: int, marks: bool, parting: int
) -> Block:
    if not unit.differs and not unit.is_ending:
        pieces = pieces[:1]
    lines: list[Line] = []
    sides = _sides(pieces, marks)
    for letter, side, rail in zip(two.letters, sides, RAILS, strict=False):
        for at, line in enumerate(side):
            margin: Span = (f"{letter if at == 0 else rail} ", letter_ink(letter))
            if 0 < at == parting:
                margin = ("≠ ", "warn")
            lines.append((margin if len(pieces) > 1 else ("  ", ""), *line))
    if unit.is_apart:
        lines.append(EMPTY)
    return _block(lines, pieces)


def _sides(pieces: list[Piece | None], marks: bool) -> list[list[Line]]:
    """The lines of the pieces without the blank ones at their ends."""
    sides = [[] if piece is None else list(piece.lines) for piece in pieces]
    if marks and len(pieces) == 2 and pieces[0] is not None and pieces[1] is not None:
        sides = list(with_changes(pieces[0], pieces[1]))
    for lines in sides:
        while lines and not lines[-1]:
            lines.pop()
    return sides


def _block(lines: list[Line], pieces: list[Piece | None]) -> Block:
    there = [piece for piece in pieces if piece is not None]
    hidden = max((piece.hidden for piece in there), default=0)
    return Block(tuple(lines), hidden, any(piece.folds for piece in there))


def fitted(line: Line, width: int) -> Line:
    """A line cut or padded to exactly `width` cells."""
    spans: list[Span] = []
    room = width
    for text, ink in line:
        text = cut(text, room)
        spans.append((text, ink))
        room -= cell_len(text)
        if room <= 0:
            break
    return (*spans, (" " * max(room, 0), ""))

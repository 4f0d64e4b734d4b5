"""Two trajectories side by side: aligned rollouts as lines, and places in them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

import msgspec
from rich.cells import cell_len

from tui_eval.fold.compare.alignment import Alignment, Range, Unit, changed_words
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut, letter_ink, line_width
from tui_eval.tui.trajectory.marking import overlaid
from tui_eval.tui.trajectory.parts import Part
from tui_eval.tui.trajectory.piece import STEP, Piece, Placed, View
from tui_eval.tui.trajectory.rendering import (
    MEASURE,
    TEXT_LINES,
    TOOL_LINES,
)

GUTTER = 3
"""Cells between the sides."""
MARGIN = 2
"""Cells before each side where one is above the other."""

RAILS = ("│", "┆")
"""The rail before the lines of a side there: its ink may be that of the other."""

Spot: TypeAlias = tuple[int, int, int]
"""A side of a unit, the place of one of its texts, -1 for the head of them all, and a character."""
Place: TypeAlias = tuple[int, int, Spot | None]
"""A unit, a line of it, and the spot at its beginning, if that is in a text."""


class Block(msgspec.Struct, frozen=True):
    """The lines of a unit, how many there are beyond them, and whether it can be folded.

    Args:
        parting: The first line in which the sides differ, or that says where they do.
        is_far: Whether they differ only in hidden lines.
    """

    lines: tuple[Line, ...]
    hidden: int = 0
    folds: bool = False
    parting: int = 0
    is_far: bool = False


class Shape(NamedTuple):
    """The layout of two rollouts; units are named by their places.

    Args:
        letters: The letters of the sides.
        beside: Whether the sides are beside each other, not one above the other.
        limits: Lines of a text to show, by unit; 0 for folded. By default a tool call or a
            prompt that differs is unfolded, and a text that differs in lines that are usually
            hidden.
    """

    two: Alignment
    letters: Sequence[str]
    width: int
    beside: bool
    limits: Mapping[int, int]

    @property
    def keys(self) -> list[Hashable]:
        """Values that determine the block of each unit."""
        units = range(len(self.two.units))
        return [(at, self.limits.get(at), self.width, self.beside) for at in units]

    def blocks(self, made: Mapping[Hashable, Block]) -> dict[Hashable, Block]:
        """The blocks of all units in order; takes those that are in `made`."""
        return {key: made.get(key) or self.block(at) for at, key in enumerate(self.keys)}

    def block(self, at: int, marks: bool = False) -> Block:
        """The block of a unit; `marks` of differing words take some milliseconds."""
        unit = self.two.units[at]
        if unit.is_head:
            return Block((self._head(unit),))
        pieces, parting = self._pieces(at)
        lead = self._lead(at, pieces, parting)
        lines = (self._beside if self.beside else self._above)(unit, pieces, marks, parting)
        there = [piece for piece in pieces if piece is not None]
        return Block(
            (*lead, *lines),
            hidden=max((piece.hidden for piece in there), default=0),
            folds=any(piece.folds for piece in there),
            parting=parting or 0,
            is_far=bool(lead) and not unit.is_ending,
        )

    def place_of(self, unit: int, line: int) -> Place:
        """The place of a line, with the spot of it or of the nearest line above."""
        above = [(at, -spot[0], spot) for at, spot in self._spots(unit) if at <= line]
        return unit, line, max(above)[-1] if above else None

    def line_of(self, place: Place) -> int:
        """The line of the unit at a place; the other side's where that side has none."""
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

    def _spots(self, at: int) -> list[tuple[int, Spot]]:
        """The spots at the beginnings of a unit's lines; a head has none."""
        if self.two.units[at].is_head:
            return []
        pieces, parting = self._pieces(at)
        start = len(self._lead(at, pieces, parting))
        found: list[tuple[int, Spot]] = []
        for side, (piece, lines) in enumerate(zip(pieces, _sides(pieces, False), strict=True)):
            found.append((start, (side, -1, 0)))
            for text, placed in enumerate(piece.placed if piece is not None else ()):
                offsets = enumerate(placed.shown.offsets(), start + placed.at)
                found += [(line, (side, text, offset)) for line, offset in offsets]
            start += 0 if self.beside else len(lines)
        return found

    @property
    def _half(self) -> int:
        return max((self.width - GUTTER) // 2, 8)

    @property
    def _ruled(self) -> int:
        """Cells that a rule takes."""
        before = self._half + GUTTER if self.beside else MARGIN
        return min(self.width, before + MEASURE)

    def _pieces(self, at: int) -> tuple[list[Piece | None], int | None]:
        """The pieces of the sides, one where they are equal and not beside each other; and
        the first line that differs, None where it is hidden."""
        unit, limit = self.two.units[at], self.limits.get(at)
        limits = [limit]
        if limit is None and unit.starts_unfolded:
            limits = [TOOL_LINES if unit.is_tool else TEXT_LINES]
        if limit is None and unit.has_changes:
            limits += [TEXT_LINES, STEP]
        found = []
        for most in limits:
            found.append([self._piece(unit, side, most) for side in (0, 1)])
            parting = _parting(*found[-1])
            if parting is not None:
                break
        pieces = found[0] if parting is None else found[-1]
        is_once = not (self.beside or unit.differs or unit.is_ending)
        return pieces[:1] if is_once else pieces, parting

    def _piece(self, unit: Unit, side: int, limit: int | None) -> Piece | None:
        """The piece of a side in a unit; None where it has none."""
        rollout = (self.two.first, self.two.second)[side]
        entry = (unit.first, unit.second)[side]
        if unit.is_ending:
            part = Part(None, rollout=rollout)
        elif entry is None:
            return None
        else:
            turn = self.two.turns[unit.turn]
            is_first = entry is (turn.first, turn.second)[side][0]
            has_step = is_first and 0 < entry.turn <= len(rollout.steps)
            part = Part(
                None, entry.turn, entry, rollout.steps[entry.turn - 1] if has_step else None
            )
        return part.lay_out(View(limit), self._half if self.beside else self.width - MARGIN)

    def _lead(self, at: int, pieces: Sequence[Piece | None], parting: int | None) -> list[Line]:
        """The line above a unit: its kind, or where its sides differ far below."""
        unit = self.two.units[at]
        if unit.is_ending:
            return [_rule((("──", "rule"), (" ending ", "muted")), self._ruled)]
        is_far = parting is None and self.limits.get(at) != 0 and unit.differs
        return [_far_below(*pieces)] if is_far else []

    def _head(self, unit: Unit) -> Line:
        turn = self.two.turns[unit.turn]
        name = f" turn {turn.turn} " if turn.turn else " prompt "
        spans: list[Span] = [("──", "rule"), (name, "strong" if unit.differs else "muted")]
        if not unit.differs:
            spans.append(("= the same ", "good"))
        elif unit.turn == self.two.parting:
            spans += [(" ≠ they part here ", "pill"), (" ", "")]
        else:
            spans.append(("≠ differs " if turn.first and turn.second else "≠ ", "warn"))
        if not turn.first or not turn.second:
            spans.append((f"only in {self.letters[bool(turn.second)]} ", "warn"))
        return _rule(tuple(spans), self._ruled)

    def _beside(
        self, unit: Unit, pieces: Sequence[Piece | None], marks: bool, parting: int | None
    ) -> list[Line]:
        usual: Span = (" ┃ ", "warn") if unit.differs else (" │ ", "rule")
        parts: Span = (" ≠ ", "warn") if unit.differs else usual
        pairs = zip_longest(*_sides(pieces, marks), fillvalue=EMPTY)
        lines = [
            (*fitted(ours, self._half), parts if at == parting else usual, *theirs)
            for at, (ours, theirs) in enumerate(pairs)
        ]
        return [*lines, (*fitted(EMPTY, self._half), usual)] if unit.is_apart else lines

    def _above(
        self, unit: Unit, pieces: Sequence[Piece | None], marks: bool, parting: int | None
    ) -> list[Line]:
        lines: list[Line] = []
        for letter, side, rail in zip(self.letters, _sides(pieces, marks), RAILS, strict=False):
            for at, line in enumerate(side):
                margin: Span = (f"{letter if at == 0 else rail} ", letter_ink(letter))
                if 0 < at == parting:
                    margin = ("≠ ", "warn")
                lines.append((margin if len(pieces) > 1 else ("  ", ""), *line))
        return [*lines, EMPTY] if unit.is_apart else lines


def _far_below(ours: Piece | None, theirs: Piece | None) -> Line:
    """A line that says where two pieces differ in their hidden lines."""
    assert ours is not None and theirs is not None
    pairs = zip(ours.placed, theirs.placed, strict=False)
    texts = ((one.block.text, other.block.text) for one, other in pairs)
    first, second = next((one, other) for one, other in texts if one != other)
    lines = zip_longest(first.split("\n"), second.split("\n"))
    line = next(at for at, (one, other) in enumerate(lines, 1) if one != other)
    where, more = f"≠ at line {line:,} of the text", f"  {key_for('beside.unfold')} shows it"
    return ((where, "warn"), (more, "faint"))


def _parting(ours: Piece | None, theirs: Piece | None) -> int | None:
    """The first line in which two pieces differ, 0 without any; None where it is hidden."""
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


def _rule(line: Line, width: int) -> Line:
    return (*line, ("─" * max(width - line_width(line), 0), "rule"))


def _sides(pieces: Sequence[Piece | None], marks: bool) -> list[list[Line]]:
    """The lines of the pieces without the blank ones at their ends."""
    sides = [[] if piece is None else list(piece.lines) for piece in pieces]
    if marks and len(pieces) == 2 and pieces[0] is not None and pieces[1] is not None:
        _mark_changes(pieces[0], pieces[1], sides)
    for lines in sides:
        while lines and not lines[-1]:
            lines.pop()
    return sides


def _mark_changes(first: Piece, second: Piece, sides: list[list[Line]]) -> None:
    """Marks the words of two pieces that are not in the other one."""
    others = {one.block.name: one for one in second.placed}
    for ours in first.placed:
        theirs = others.get(ours.block.name)
        if theirs is not None:
            both = changed_words(ours.shown.source, theirs.shown.source)
            for placed, lines, ranges in zip((ours, theirs), sides, both, strict=True):
                _mark(placed, lines, ranges)


def _mark(placed: Placed, lines: list[Line], ranges: Sequence[Range]) -> None:
    for at, start in enumerate(placed.shown.offsets() if ranges else (), placed.at):
        lead, rest = lines[at][: placed.lead], lines[at][placed.lead :]
        end = start + sum(len(text) for text, _ in rest)
        here = [one for one in ranges if one[0] < end and one[1] > start]
        marks = [(first - start, after - start, "changed") for first, after in here]
        lines[at] = (*lead, *overlaid(rest, marks))


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

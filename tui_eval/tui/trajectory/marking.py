"""Lays inks over lines: those of a language, and those of matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tui_eval.tui.base.look.ink import Line, Span
from tui_eval.tui.trajectory.piece import Piece
from tui_eval.tui.trajectory.search import Match

if TYPE_CHECKING:
    from tui_eval.tui.trajectory.syntax import Inked, Token


class Texts:
    """The inks of one piece's texts, found only as far as they are shown."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self._offsets: dict[int, list[int]] = {}
        self._inked: dict[int, Inked] = {}

    def line(
        self,
        at: int,
        matches: Sequence[Match],
        current: Match | None,
        in_time: Callable[[], bool],
    ) -> tuple[Line, bool]:
        """A line of the piece with its inks, and whether all of them were found in time.

        Args:
            matches: The matches in the piece.
            current: The current one.
        """
        line = self.piece.lines[at]
        which = self._placed(at)
        if which is None:
            return line, True
        placed = self.piece.placed[which]
        start = self.offsets(which)[at - placed.at] + placed.skipped
        lead, rest = line[: placed.lead], line[placed.lead :]
        length = sum(len(text) for text, _ in rest)
        is_whole = True
        if placed.block.language:
            inked = self._inked.get(which)
            if inked is None:
                from tui_eval.tui.trajectory.syntax import Inked

                inked = self._inked[which] = Inked(placed.shown.source, placed.block.language)
            inner = start - placed.skipped
            is_whole = inked.reaches(inner + length, in_time)
            found = inked.between(inner, inner + length)
            rest = overlaid(rest, [(a - inner, b - inner, ink) for a, b, ink in found])
        if placed.block.name == "name" and len(self.piece.lines) == 1:
            rest = _folded(rest, {one.name for one in matches})
        marks: list[Token] = [
            (one.start - start, one.end - start, "match-here" if one == current else "match")
            for one in matches
            if one.name == placed.block.name and one.start < start + length and one.end > start
        ]
        return (*lead, *overlaid(rest, marks)), is_whole

    def line_of(self, name: str, place: int) -> int | None:
        """The line that shows this character of a text; None where none does."""
        for which, placed in enumerate(self.piece.placed):
            offsets = self.offsets(which)
            if placed.block.name != name or not offsets or place < placed.skipped:
                continue
            inner = place - placed.skipped
            last = offsets[-1] + len(placed.shown.lines[-1])
            if inner < last or placed.shown.rest <= 0:
                number = sum(1 for offset in offsets if offset <= inner) - 1
                return placed.at + max(number, 0)
        return None

    def offsets(self, which: int) -> list[int]:
        """The offsets of the lines of a text."""
        found = self._offsets.get(which)
        if found is None:
            found = self._offsets[which] = self.piece.placed[which].shown.offsets()
        return found

    def _placed(self, at: int) -> int | None:
        every = enumerate(self.piece.placed)
        return next((i for i, one in every if 0 <= at - one.at < len(one.shown.lines)), None)


def _folded(call: Line, found: set[str]) -> Line:
    """A tool call on one line, its arguments or its result lit where they have a match."""
    has_result = call[2:3] and call[2][1] == "muted"
    lit = {2 if name == "result" and has_result else 1 for name in found - {"name"}}
    return tuple((text, "match" if at in lit else ink) for at, (text, ink) in enumerate(call))


def overlaid(line: Iterable[Span], marks: Iterable[Token]) -> Line:
    """A line with other inks in these ranges, which are in order and do not overlap."""
    spans: list[Span] = []
    coming = iter([*marks, (1 << 60, 1 << 60, "")])
    start, end, ink = next(coming)
    at = 0
    for text, plain in line:
        while text:
            while end <= at:
                start, end, ink = next(coming)
            inside = start <= at
            cut = min((end if inside else start) - at, len(text))
            spans.append((text[:cut], ink if inside else plain))
            text = text[cut:]
            at += cut
    return tuple(spans)

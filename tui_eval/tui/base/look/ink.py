"""Lines as plain values, and the one place where they become terminal output.

A line is a tuple of (text, ink) pairs. Ink is a name, not a colour: the style sheet gives each its
colour as the class `ink--NAME`. Text is never parsed as markup, and every piece passes
`printable` here, whatever its origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_eval.printable import printable

Span: TypeAlias = tuple[str, str]
Line: TypeAlias = tuple[Span, ...]

INKS = (
    *("strong", "muted", "faint", "rule", "brace", "key", "second", "role", "thought", "changed"),
    *("busy", "accent", "good", "bad", "fault", "warn", "bar-good", "histogram"),  # of a status
    *("string", "number", "keyword", "name", "code", "comment"),  # of texts in some language
    *("match", "match-here", "caret", "pill"),
    *("cursor", "cursor-blurred"),  # grounds laid under a line
)
"""Every ink."""

OWN_GROUNDS = ("pill", "match", "match-here", "caret")
"""Inks with a background of their own, which they keep on that of a line."""
EMPTY: Line = ()
LEAST_OF_A_FILE = 12
"""The fewest cells in which a file's name is shown."""
LETTERS = ("key", "second", "strong", "muted")
"""Inks of the letters of runs that are compared, over and over."""


def strip_of(line: Iterable[Span], width: int, ink: Callable[[str], Style], ground: Style) -> Strip:
    """A line drawn to exactly `width` cells; what is longer ends with an ellipsis.

    Args:
        ink: Gives the style of an ink by name; of the empty name, the plain one.
        ground: Style over each piece's own: the background of a selected line.
    """
    segments = [
        Segment(
            printable(text).replace("\n", " "),
            ink(name) if name in OWN_GROUNDS else ink(name) + ground,
        )
        for text, name in line
        if text
    ]
    strip = Strip(segments)
    if strip.cell_length > width > 0 and not strip.crop(width).text.isspace():
        end = Segment("…", ink("muted") + ground)
        return Strip.join([strip.crop(0, width - 1), Strip([end])])
    return strip.adjust_cell_length(width, ink("") + ground)


def letter_ink(letter: str) -> str:
    """The ink of a run's letter."""
    return LETTERS[(ord(letter[0]) - ord("A")) % len(LETTERS)]


def line_width(line: Iterable[Span]) -> int:
    """Cells that a line takes."""
    return sum(cell_len(text) for text, _ in line)


def cut(text: str, width: int) -> str:
    """Text cut with an ellipsis to at most `width` cells."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)) + "…" * (width > 0)


def cut_line(line: Iterable[Span], width: int) -> Line:
    """A line cut with an ellipsis to at most `width` cells, of which there is one at least."""
    line = tuple(line)
    if line_width(line) <= width:
        return line
    spans: list[Span] = []
    room, ink = width - 1, ""
    for text, ink in line:
        kept = set_cell_size(text, min(cell_len(text), room))
        spans.append((kept, ink))
        room -= cell_len(kept)
        if len(kept) < len(text):
            break
    return (*spans, ("…", ink))


def cut_start(text: str, width: int) -> str:
    """Text cut to its last `width` cells, an ellipsis before them."""
    if cell_len(text) <= width:
        return text
    end = text[-max(width - 1, 0) :] if width > 1 else ""
    while cell_len(end) > width - 1 and end:
        end = end[1:]
    return "…" * (width > 0) + end


def cut_message(text: str, width: int) -> str:
    """Text cut to at most `width` cells: the file that it ends with in front, else its end."""
    before, _, last = text.rpartition(" ")
    room = width - cell_len(before) - 1
    is_file = "/" in last or bool(PurePath(last).suffix)
    if cell_len(text) <= width or not is_file or room < LEAST_OF_A_FILE:
        return cut(text, width)
    return f"{before} {cut_start(last, room)}"


def left(text: str, width: int) -> str:
    """Text cut with an ellipsis or padded on the right to exactly `width` cells."""
    return set_cell_size(cut(text, width), width)


def right(text: str, width: int) -> str:
    """Text cut with an ellipsis or padded on the left to exactly `width` cells."""
    text = cut(text, width)
    return " " * (width - cell_len(text)) + text


def spread(start: Line, end: Line, width: int, least: int = 1) -> Line:
    """Two lines at the two edges of `width`; the end gives way where both do not fit."""
    gap = width - line_width(start) - line_width(end)
    return (*start, (" " * gap, ""), *end) if gap >= least else start

"""The cells of a screen: the wanted ones, and those that the terminal shows already."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from rich.cells import split_graphemes
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_eval.tui.base.look.widths import is_placed_with_its_word
from tui_eval.tui.base.textual_private import LayoutUpdate, Update


class Ink(NamedTuple):
    """The parameters of a style for a terminal: attributes, colour, background."""

    attributes: str
    colour: str
    ground: str


PLAIN = Ink("", "", "")
Cell: TypeAlias = tuple[str, Ink]
"""A sign and its style; the second cell of a wide sign holds no text."""
Row: TypeAlias = list[Cell]
BLANK: Cell = (" ", PLAIN)
UNKNOWN: Cell = ("??", Ink("?", "?", "?"))
"""A cell that no screen shows: it is always drawn over."""
GAP = 4
"""The most cells between two changes that are rewritten: skipping takes as many bytes."""
WORD = 40
"""The distance within which the word of a change is rewritten: terminals that join letters have
to see them together."""
LINES = range(0x2500, 0x25A0)
"""Box drawing and block elements: they join nothing that has a meaning of its own."""
FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
EMOJI = 0x1F000
UNSEEN_ON_BLANKS = frozenset(("", "1", "2", "3", "1;2", "1;3", "2;3", "1;2;3"))
"""Attributes that a blank cell does not show: bold, dim, italic."""

ENDED_BY = {
    **{"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28"},
    **{"9": "29", "21": "24", "51": "54", "52": "54", "53": "55"},
}
"""Attributes by the parameter that ends them."""


@lru_cache(4096)
def ink_of(style: Style, colors: ColorSystem) -> Ink:
    """The parameters of a style."""
    whole = Strip.render_ansi(Style.from_color(style.color), colors)
    ground = Strip.render_ansi(Style(bgcolor=style.bgcolor), colors)
    rest = Strip.render_ansi(style.without_color, colors)
    return Ink(rest, whole, ground)


def cells_of(segments: Iterable[Segment], colors: ColorSystem) -> Row:
    """The cells that segments of a strip fill."""
    row: Row = []
    for text, style, control in segments:
        if control:
            continue
        ink = PLAIN if style is None else ink_of(style, colors)
        blank = (" ", Ink("", "", ink.ground)) if ink.attributes in UNSEEN_ON_BLANKS else (" ", ink)
        if text.isascii():
            row += [blank if sign == " " else (sign, ink) for sign in text]
        else:
            for start, end, width in split_graphemes(text)[0]:
                _put_sign(row, text[start:end], width, ink if text[start:end] != " " else blank[1])
    return row


def _put_sign(row: Row, sign: str, width: int, ink: Ink) -> None:
    if width and sign in FLAG_LETTERS and row and row[-1][0] in FLAG_LETTERS:
        row[-1:] = [(row[-1][0] + sign, ink), ("", ink)]  # apart, two letters are no flag
    elif width:
        row.append((sign, ink))
        row.extend([("", ink)] * (width - 1))
    elif row:  # it is on the sign before
        at = max(at for at in range(len(row)) if row[at][0])
        row[at] = (row[at][0] + sign, row[at][1])


def pieces_of(update: Update) -> Iterator[tuple[int, int, Strip]]:
    """The strips of a Textual update, each with line and column."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in strips:
                yield y, x, strip
                x += strip.cell_length
        return
    for y, x1, x2 in update.spans:
        for end, (x, chop) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if chop is not None and x <= x2 and end > x1:
                whole = x1 <= x < x2 and end <= x2
                yield y, x, chop if whole else chop.crop(0, min(end, x2) - x)


class ScreenCells:
    """The wanted cells, and the output that makes a terminal show them.

    A terminal on a slow line shows the newest state after the bytes of what differs, however many
    states came in between.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._wanted: list[Row] = [[BLANK] * width for _ in range(height)]
        self.forget()

    def forget(self) -> None:
        """Forgets what the terminal shows: all of it is written again."""
        self._shown = [[UNKNOWN] * self.width for _ in range(self.height)]
        self._changed = set(range(self.height))

    def take(self, update: Update, colors: ColorSystem) -> None:
        for y, x, strip in pieces_of(update):
            if 0 <= y < self.height and x < self.width:
                cells = cells_of(strip, colors)[: self.width - x]
                self._wanted[y][x : x + len(cells)] = cells
                self._changed.add(y)

    def changes(self) -> str:
        """The output for all changes, which then count as shown.

        Texts come first: over a slow line a box can be read before all behind it has dimmed.
        """
        writing = _Writing(self.width)
        for looks in (_has_other_sign, operator.ne):
            for y in sorted(self._changed):
                wanted, shown = self._wanted[y], self._shown[y]
                for start, end in changed_runs(shown, wanted, looks):
                    writing.write(y, start, wanted[start:end])
                    shown[start:end] = wanted[start:end]
        self._changed.clear()
        return writing.text


def _has_other_sign(shown: Cell, wanted: Cell) -> bool:
    return shown[0] != wanted[0]


def changed_runs(
    shown: Row, wanted: Row, differ: Callable[[Cell, Cell], bool] = operator.ne
) -> list[tuple[int, int]]:
    """The ranges of a line to write: changed words, joined where they are near."""
    runs: list[tuple[int, int]] = []
    if shown == wanted:
        return runs
    at, width = 0, len(wanted)
    while at < width:
        if not differ(shown[at], wanted[at]):
            at += 1
            continue
        start, end = _word_around(wanted, at)
        if runs and start - runs[-1][1] <= GAP:
            start = runs.pop()[0]
        runs.append((start, end))
        at = end
    return runs


def _word_around(row: Row, at: int) -> tuple[int, int]:
    """The cells of the word at a place, or of the one sign that is none."""
    start, end, width = at, at + 1, len(row)
    if _is_in_word(row[at]):
        while start > 0 and at - start < WORD and _is_in_word(row[start - 1]):
            start -= 1
        while end < width and end - at < WORD and _is_in_word(row[end]):
            end += 1
    while start > 0 and not row[start][0]:
        start -= 1
    while end < width and not row[end][0]:
        end += 1
    return start, end


def _is_in_word(cell: Cell) -> bool:
    sign = cell[0]
    return sign != " " and not (sign and ord(sign[0]) in LINES)


def _is_disputed(sign: str) -> bool:
    """Whether terminals differ in the cells of a sign: the next text is placed explicitly."""
    return (len(sign) > 1 and not is_placed_with_its_word(sign)) or ord(sign[0]) >= EMOJI


class _Writing:
    """The output of a frame: cursor, styles and text."""

    def __init__(self, width: int) -> None:
        self._parts: list[str] = []
        self._width = width
        self._at: tuple[int, int] | None = None
        self._ink = PLAIN

    @property
    def text(self) -> str:
        """All of it; the style is plain at its end."""
        if not self._parts:
            return ""
        return "".join(self._parts) + ("\x1b[0m" if self._ink != PLAIN else "")

    def write(self, y: int, x: int, cells: Row) -> None:
        for place, (sign, ink) in enumerate(cells):
            if sign:
                if self._at != (y, x):
                    self._go(y, x)
                self._change_ink(sign, ink)
                if ord(sign[0]) >= EMOJI and cells[place + 1 : place + 2] == [("", ink)]:
                    self._parts.append(f"  \x1b[{x + 1}G")  # some terminals fill one cell only
                self._parts.append(sign)
                self._at = None if _is_disputed(sign) else (y, x + 1)
            elif self._at == (y, x):
                self._at = (y, x + 1)
            x += 1
        if x >= self._width:
            self._at = None  # where terminals leave the cursor behind the last column differs

    def _go(self, y: int, x: int) -> None:
        is_here = self._at is not None and self._at[0] == y
        self._parts.append(f"\x1b[{x + 1}G" if is_here else f"\x1b[{y + 1};{x + 1}H")
        self._at = (y, x)

    def _change_ink(self, sign: str, ink: Ink) -> None:
        now = self._ink
        if sign == " " and not (ink.attributes or ink.colour):  # only its ground is seen
            attributes = now.attributes if now.attributes in UNSEEN_ON_BLANKS else ""
            ink = Ink(attributes, now.colour, ink.ground)
        if ink == now:
            return
        parts = _attributes_changed(now.attributes, ink.attributes)
        if ink.colour != now.colour:
            parts.append(ink.colour or "39")
        if ink.ground != now.ground:
            parts.append(ink.ground or "49")
        self._parts.append(f"\x1b[{';'.join(parts)}m")
        self._ink = ink


def _attributes_changed(now: str, wanted: str) -> list[str]:
    """The parameters that lead from some attributes to others."""
    if now == wanted:
        return []
    before, after = (set(one.split(";")) - {""} for one in (now, wanted))
    ends = {ENDED_BY[one] for one in before - after}
    kept = {one for one in before if ENDED_BY[one] not in ends}
    return [*sorted(ends), *sorted(after - kept)]

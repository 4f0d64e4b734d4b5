"""Records of a log as lines: the shown part of each, and the layout of all."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable
from typing import NamedTuple

from textual.cache import LRUCache

from tui_eval.fold.log_records import DEBUG, ERROR, INFO, OUTPUT, WARNING, LogRecord, LogWindow
from tui_eval.text.figures import plural
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import Line, Span, cut, left, line_width
from tui_eval.tui.base.look.wrap import Shown, wrap
from tui_eval.tui.trajectory.marking import overlaid

TIME, WORD = 8, 5
MARGIN = TIME + WORD + 5
"""Cells before the text: time, sign and word of the level."""
NAME, WIDE = 12, 72
"""Cells that the name of a logger takes at least where there are so many for it and the text."""
UNFOLDED = 200
"""Lines of a record that are shown once it is unfolded, and how many more each time after."""
STEP = 2000


class LevelLook(NamedTuple):
    """The look of a level.

    `text` is the ink of a message, of which `most` lines are shown before it is unfolded.
    """

    glyph: str
    word: str
    ink: str
    text: str
    most: int


LEVELS = {
    DEBUG: LevelLook("·", "debug", "muted", "muted", 1),
    OUTPUT: LevelLook("›", "print", "accent", "", 3),
    INFO: LevelLook("•", "info", "busy", "", 3),
    WARNING: LevelLook("!", "warn", "warn", "", 4),
    ERROR: LevelLook("✗", "error", "bad", "fault", 4),
}


def _left_out(size: int) -> LogRecord:
    """A record that says how much of the log is before the shown part."""
    amount = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
    key = key_for("log.switch-fold")
    return LogRecord(-1, OUTPUT, "", "", [f"… {amount} before this  {key} reads more"])


class Body(NamedTuple):
    """The shown lines of a record; the last one of a cut record may be too long.

    `rest` logged lines are not shown.
    """

    lines: list[str]
    is_cut: bool
    rest: int


def _body(record: LogRecord, room: int, limit: int | None) -> Body:
    """The shown part of a record, up to a limit of lines; None for the usual number.

    Names have a column of their own where there is room for it. Of an error that is too long the
    beginning and the end are shown: a traceback is between them.
    """
    most = LEVELS[record.level].most if limit is None else limit
    column = max(len(record.name), NAME) + 2
    if not record.name or room < WIDE or column > room // 2:
        column = 0
    width, logged = room - column, record.lines
    if record.name and not column:
        logged = [f"{record.name}  {logged[0]}", *logged[1:]]
    source = "\n".join(logged[: most + 1])
    lines, beyond = wrap(source, width, most, hangs=True)
    rest = 0
    if beyond and limit is None and record.level == ERROR and len(logged) > 2:
        lines, rest = [cut(logged[0], width), logged[-1].strip()], len(logged) - 2
    elif beyond or source.startswith(" ") or "\n " in source:
        found = Shown(lines, beyond, source)
        hangs = found.hangs()
        if beyond:
            at = found.offsets()[-1]
            lines[-1] = source[at : at + 4 * width].partition("\n")[0]
            rest = len(logged) - source.count("\n", 0, at) - 1
        lines = [" " * hang + line for hang, line in zip(hangs, lines, strict=True)]
    if column:
        first, *others = lines
        lines = [record.name.ljust(column) + first, *(" " * column + line for line in others)]
    return Body(lines, beyond > 0, rest)


class LogLayout:
    """The records of a window from a level on, one under the other."""

    def __init__(self, window: LogWindow) -> None:
        self.window = window
        self.records: list[LogRecord] = []
        self.limits: dict[int, int] = {}
        """Lines that a record may take, by its offset, where it is unfolded."""
        self.room = 1
        """Cells of a line after the margin."""
        self._starts = [0]
        """The first line of each record, and the number of all lines."""
        self._used = 0
        self._layout: Hashable = None
        self._bodies: LRUCache[Hashable, Body] = LRUCache(512)
        self._found: tuple[Hashable, list[int]] = None, []

    def lay_out(self, room: int, least: int) -> bool:
        """Takes in new records from a level on; returns whether lines may have moved."""
        window, limits = self.window, tuple(self.limits.items())
        layout = (room, least, limits, window.begin, window.begun)
        moved = layout != self._layout
        if moved:
            self._layout, self.room = layout, room
            self.records, self._starts, self._used = [], [0], 0
            if window.begin:
                self._add(_left_out(window.begin))
        elif self._used and self.records and self.records[-1] is window.records[self._used - 1]:
            self.records.pop()  # it may have grown
            self._starts.pop()
            self._used -= 1
        for record in window.records[self._used :]:
            if record.level >= least:
                self._add(record)
        self._used = len(window.records)
        return moved

    def _add(self, record: LogRecord) -> None:
        self.records.append(record)
        shown = _body(record, self.room, self.limits.get(record.offset))
        self._starts.append(self._starts[-1] + len(shown.lines))

    @property
    def count(self) -> int:
        return self._starts[-1]

    def at_line(self, index: int) -> int:
        """The index of the record at a line; the last one for any below."""
        return min(bisect_right(self._starts, index), len(self.records)) - 1

    def at_offset(self, offset: int) -> int:
        """The index of the record at an offset of the log, or of the one before."""
        return max(bisect_right(self.records, offset, key=lambda record: record.offset) - 1, 0)

    def span(self, at: int) -> tuple[int, int]:
        """First line of a record and the one after its last."""
        return self._starts[at], self._starts[at + 1]

    def is_cut(self, record: LogRecord) -> bool:
        """Whether not all of a record is shown."""
        return self._body(record).is_cut

    def _body(self, record: LogRecord) -> Body:
        limit = self.limits.get(record.offset)
        key = (record.offset, len(record.lines), record.lines[0], self.room, limit)
        shown = self._bodies.get(key)
        if shown is None:
            shown = self._bodies[key] = _body(record, self.room, limit)
        return shown

    def line(self, index: int, needle: str, cursor: int) -> Line:
        """One line, with matches lit, most in the record at the cursor."""
        at = self.at_line(index)
        record, at_head = self.records[at], index == self._starts[at]
        shown, look = self._body(record), LEVELS[record.level]
        text, note = shown.lines[index - self._starts[at]], ""
        if shown.is_cut and index + 1 == self._starts[at + 1]:
            note = f"  +{plural(shown.rest, 'line')}" if shown.rest else ""
            text = cut(text, max(self.room - line_width(((note, ""),)), 1))
        if record.offset < 0:
            return ((text, "faint"),)
        spans: list[Span] = [(" " * MARGIN, "")]
        if at_head:
            spans = [(left(record.time, TIME), "faint"), (f" {look.glyph} ", look.ink)]
            spans += [(left(look.word, WORD + 2), look.ink)]
        name = len(record.name) if at_head and text.startswith(record.name) else 0
        found = "match-here" if record.offset == cursor else "match"
        plain = (text[:name], "faint"), (text[name:], look.text)
        looked_for = re.compile(re.escape(needle), re.IGNORECASE)
        parts = ((0, name), (name, len(text)))
        places = (one.span() for part in parts for one in looked_for.finditer(text, *part))
        marks = [(*place, found) for place in places] if needle else []
        return (*spans, *overlaid(plain, marks), (note, "faint"))

    def key(self, index: int) -> Hashable:
        """A value that determines the line, but for what is lit."""
        at = self.at_line(index)
        record = self.records[at]
        place, limit = index - self._starts[at], self.limits.get(record.offset)
        return (record.offset, len(record.lines), place, limit, self.room, self.window.begin)

    def found(self, needle: str) -> list[int]:
        """The indices of records with a text, given in lower case; searched once."""
        looked_for = (needle, self._layout, self.window.end)
        if looked_for != self._found[0]:
            texts = ((one.name, *one.lines) for one in self.records)
            has_it = (any(needle in text.lower() for text in found) for found in texts)
            self._found = looked_for, [at for at, found in enumerate(has_it) if found]
        return self._found[1]

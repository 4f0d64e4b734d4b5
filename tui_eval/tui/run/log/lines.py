"""Records of a log as lines: pure functions from what was logged to what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tui_eval.fold.log_records import DEBUG, ERROR, INFO, OUTPUT, WARNING, LogRecord
from tui_eval.text.figures import plural
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import Line, Span, cut, left, line_width
from tui_eval.tui.base.look.wrap import indent_of, wrap_line

TIME, WORD = 8, 5
MARGIN = TIME + WORD + 5
"""Cells before the text: time, sign and word of the level."""
NAME, WIDE = 12, 72
"""Cells that the name of a logger takes at least where there are so many for it and the text."""
UNFOLDED = 200
"""Lines of a record that are shown once it is unfolded, and how many more each time after."""
STEP = 2000


class LevelLook(NamedTuple):
    """One level as people see it.

    Args:
        text: The ink of the message.
        most: Lines of it that are shown before it is unfolded.
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


def left_out(size: int) -> LogRecord:
    """Says how much of the log stands before what is shown."""
    amount = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
    key = key_for("log.switch-fold")
    return LogRecord(-1, OUTPUT, "", "", [f"… {amount} before this  {key} reads more"])


class Body(NamedTuple):
    """What is shown of a record.

    Args:
        lines: Of the screen; the last of a record that is cut may be longer than that.
        rest: Lines as they were logged of which nothing is shown.
    """

    lines: list[str]
    is_cut: bool = False
    rest: int = 0


def height(record: LogRecord, room: int, limit: int | None) -> int:
    """How many lines a record takes.

    Args:
        room: Cells of a line after the margin.
        limit: Lines that it may take; None for what is usual.
    """
    most = LEVELS[record.level].most if limit is None else limit
    if len(record.lines) == 1 and len(record.lines[0]) + len(record.name) + NAME <= room // 2:
        return 1
    record, hang = _hung(record, room)
    room -= hang
    total = _total(record, room, most)
    return 2 if _shows_ends(record, total, most, limit) else min(total, most)


def _hung(record: LogRecord, room: int) -> tuple[LogRecord, int]:
    """A record without its name, and the cells of that where messages have a column, else 0."""
    hang = max(len(record.name), NAME) + 2
    if not record.name or room < WIDE or hang > room // 2:
        return record, 0
    return record._replace(name=""), hang


def _texts(record: LogRecord) -> Iterator[str]:
    yield f"{record.name}  {record.lines[0]}" if record.name else record.lines[0]
    yield from record.lines[1:]


def _total(record: LogRecord, room: int, enough: int) -> int:
    """Lines of the whole record; no more than one more is counted than what is `enough`."""
    total = 0
    for text in _texts(record):
        total += sum(1 for _ in islice(_cut(text, room), enough + 1))
        if total > enough:
            break
    return total


def _cut(text: str, room: int) -> Iterator[str]:
    if len(text) <= room and text.isascii():
        return iter((text,))
    return wrap_line(text, room, indent_of(text))


def _shows_ends(record: LogRecord, total: int, most: int, limit: int | None) -> bool:
    """Whether only what an error says first and last is shown: a traceback is between them."""
    return total > most and limit is None and record.level == ERROR and len(record.lines) > 2


def body(record: LogRecord, room: int, limit: int | None) -> Body:
    """The lines of a record that are shown."""
    nameless, hang = _hung(record, room)
    shown = _body(nameless, room - hang, limit)
    if not hang:
        return shown
    first, *others = shown.lines
    lines = [record.name.ljust(hang) + first, *(" " * hang + line for line in others)]
    return shown._replace(lines=lines)


def _body(record: LogRecord, room: int, limit: int | None) -> Body:
    most = LEVELS[record.level].most if limit is None else limit
    total = _total(record, room, most)
    if _shows_ends(record, total, most, limit):
        first, *_, last = _texts(record)
        return Body([cut(first, room), last.strip()], True, len(record.lines) - 2)
    lines: list[str] = []
    for number, text in enumerate(_texts(record), 1):
        start, hang = 0, ""
        for part in _cut(text, room):
            start = text.find(part, start)
            if total > most == len(lines) + 1:
                end = hang + text[start : start + 4 * room]
                return Body([*lines, end], True, len(record.lines) - number)
            lines.append(hang + part)
            start, hang = start + len(part), " " * indent_of(text)
    return Body(lines)


def log_line(
    record: LogRecord, shown: Body, at: int, room: int, needle: str, selected: bool
) -> Line:
    """One line of a record.

    Args:
        shown: Its body.
        at: Which line of the body.
        needle: What is searched for, in small letters; it is lit, more so where one is.
    """
    look, found = LEVELS[record.level], "match-here" if selected else "match"
    text, note = shown.lines[at], ""
    if shown.is_cut and at == len(shown.lines) - 1:
        note = f"  +{plural(shown.rest, 'line')}" if shown.rest else ""
        text = cut(text, max(room - line_width(((note, ""),)), 1))
    if record.offset < 0:
        return ((text, "faint"),)
    spans: list[Span] = [(" " * MARGIN, "")]
    if at == 0:
        spans = [(left(record.time, TIME), "faint"), (f" {look.glyph} ", look.ink)]
        spans += [(left(look.word, WORD + 2), look.ink)]
        name = len(record.name) if record.name and text.startswith(record.name) else 0
        spans += lit(text[:name], "faint", needle, found)
        spans += lit(text[name:], look.text, needle, found)
    else:
        spans += lit(text, look.text, needle, found)
    return (*spans, (note, "faint"))


def lit(text: str, ink: str, needle: str, found: str) -> list[Span]:
    """A text with what is searched for in it in the ink of what was found."""
    lowered = text.lower()
    if not needle or needle not in lowered or len(lowered) != len(text):
        return [(text, ink)]
    spans: list[Span] = []
    start = 0
    while (at := lowered.find(needle, start)) >= 0:
        spans += [(text[start:at], ink), (text[at : at + len(needle)], found)]
        start = at + len(needle)
    return [*spans, (text[start:], ink)]


def holds(record: LogRecord, needle: str) -> bool:
    """Whether a record has a text in it, given in small letters."""
    return any(needle in line.lower() for line in record.lines) or needle in record.name.lower()

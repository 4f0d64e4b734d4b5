"""Reading results.jsonl line by line: ours, other programs', or half written; and when again."""

from __future__ import annotations

import json
import math
import re
import time
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from tui_eval.runs.layout import RunDir

BYTE_ORDER_MARK = "\ufeff"
BLOCK = 1 << 20
"""Bytes that are read at a time; the buffer grows for a longer line and shrinks again."""
SETTLED_S = 1.0
"""A file that another program writes again from its beginning is read when it rests for so long,"""
PATIENCE_S = 5.0
"""or after so long, if it never does."""


class Line(msgspec.Struct, frozen=True):
    """One line of results.jsonl: its place in bytes, its row, and why it has none or a fault."""

    number: int
    offset: int
    length: int
    row: dict[str, Any] | None
    fault: str = ""
    ends: bool = True
    """Whether it ends with a newline."""


def decode_row(line: bytes) -> dict[str, Any]:
    """One row, also with NaN literals, lone surrogates and broken UTF-8, which strict JSON refuses.

    Raises:
        ValueError: The line is not a JSON object.
    """
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        row = json.loads(_text(line), parse_int=_number_from)
    if not isinstance(row, dict):
        raise ValueError(f"a row is an object, this is {_kind(row)}")
    return row


def _kind(value: Any) -> str:
    """JSON type of a value."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return (
        "a list" if isinstance(value, list) else "a text" if isinstance(value, str) else "a number"
    )


def encoding_fault(line: bytes) -> str:
    """Place at which a line is no UTF-8; empty where it is."""
    try:
        line.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start + 1}; shown with \ufffd"
    return ""


class LineNumbers:
    """The numbers of a file's lines by their offsets; what was counted is not counted again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = [(0, 1)]

    def at(self, offset: int) -> int:
        """The number of the line at an offset, from 1."""
        place = bisect_right(self._known, (offset, offset + 1))
        start, number = self._known[place - 1]
        left = offset - start
        with open(self._path, "rb") as file:
            file.seek(start)
            while left and (block := file.read(min(left, BLOCK))):
                number += block.count(b"\n")
                left -= len(block)
        self._known.insert(place, (offset, number))
        return number

    def doubt(self, offset: int, line: bytes) -> str:
        """Sentence on the line at this offset that is no UTF-8, and where; empty where it is."""
        fault = encoding_fault(line)
        return f"{self._path.name}, line {self.at(offset)}: {fault}" if fault else ""


def _text(line: bytes) -> str:
    try:
        text = line.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
    return text.removeprefix(BYTE_ORDER_MARK)


def _number_from(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python reads
        return float(digits)


def lines_of(file: BinaryIO, start: int = 0) -> Iterator[tuple[int, memoryview]]:
    """Offset and bytes of every line from a byte offset on; the last one may lack its newline.

    A line is read into a buffer that the next one overwrites: copy what is to stay. The file, which
    is unbuffered, is not mapped: another program may cut it off at any time, which would kill who
    reads a map of it.
    """
    file.seek(start)
    buffer, have, offset = bytearray(BLOCK), 0, start
    view = memoryview(buffer)
    while got := file.readinto(view[have:]):  # type: ignore[attr-defined]
        searched, have, at = have, have + got, 0
        while (end := buffer.find(b"\n", searched, have)) >= 0:
            yield offset + at, view[at : end + 1]
            at = searched = end + 1
        offset += at
        rest = bytes(view[at:have])
        size = max(BLOCK, 2 * len(rest))
        if size != len(buffer):
            buffer = bytearray(size)
            view = memoryview(buffer)
        have = len(rest)
        view[:have] = rest
    if have:
        yield offset, view[:have]


def scan(path: Path, start: int = 0) -> Iterator[Line]:
    """Every line from a byte offset on, counted from 1; a whole last line may lack its newline."""
    if not path.exists():
        return
    with open(path, "rb", buffering=0) as file:
        for number, (offset, raw) in enumerate(lines_of(file, start), 1):
            if line := line_of(number, offset, bytes(raw)):
                yield line


def line_of(number: int, offset: int, raw: bytes) -> Line | None:
    """A line with its row, or why there is none; None where it is blank."""
    if not raw.strip():
        return None
    ends = raw.endswith(b"\n")
    try:
        return Line(number, offset, len(raw), decode_row(raw), ends=ends)
    except (ValueError, RecursionError) as error:
        fault = _why(error) if ends else "the line was not finished"
        return Line(number, offset, len(raw), None, fault, ends)


def _why(error: Exception) -> str:
    """Reason why a line is no row, with the place in it where there is one."""
    if isinstance(error, json.JSONDecodeError):
        what = re.sub(r"( starting)? at$", "", error.msg)
        return f"not JSON at character {error.pos + 1}: {what[0].lower()}{what[1:]}"
    if isinstance(error, RecursionError):
        return "not a row: it is nested too deeply"
    return f"not a row: {error}"


def count_lines(path: Path) -> int:
    """Newlines in a file."""
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def count_rows(path: Path) -> int:
    """Lines of a file that may be rows: all that end, and the last one only where it is a row."""
    lines = count_lines(path)
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - BLOCK, 0))
        tail = file.read(BLOCK)
    text = tail.rstrip()
    ends = tail[len(text) :].count(b"\n")  # blank lines are none
    _, newline, last = text.rpartition(b"\n")
    if not newline and size > BLOCK:
        return lines  # the last one is too long to be looked at
    try:
        decode_row(last)
    except (ValueError, RecursionError):
        return lines - ends
    return lines - ends + 1


class Stamp(NamedTuple):
    """Size, time of change and inode of a file."""

    size: int
    changed_ns: int
    inode: int


def stamp_of(run: RunDir) -> Stamp | None:
    """The stamp of a run's results; None where there are none."""
    try:
        status = run.results.stat()
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


class Settling:
    """The wait for results that are written again; our own are replaced by a whole file."""

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._since = 0.0

    def is_over(self) -> bool:
        """Whether the file is to be read now; the wait begins with the first call."""
        now = time.monotonic()
        self._since = self._since or now
        stamp = stamp_of(self._run)
        rests_s = time.time() - stamp.changed_ns / 1e9 if stamp is not None else math.inf
        is_whole = self._run.is_ours or rests_s > SETTLED_S
        if not is_whole and now - self._since < PATIENCE_S:
            return False
        self.end()
        return True

    def end(self) -> None:
        """Ends the wait: the file only grows."""
        self._since = 0.0

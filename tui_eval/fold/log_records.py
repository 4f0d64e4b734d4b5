"""Records of a run's log, and the window of them that is held in memory."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tui_eval.printable import printable

DEBUG, OUTPUT, INFO, WARNING, ERROR = range(5)
"""Levels, the least first; what people's code prints has none of its own and is `OUTPUT`."""

_LEVELS = {"DEBUG": DEBUG, "INFO": INFO, "WARNING": WARNING, "ERROR": ERROR, "CRITICAL": ERROR}
_NAMES = "|".join(_LEVELS)
_STAMP = r"\d{4}-\d\d-\d\d (?P<time>\d\d:\d\d:\d\d)(?:[,.]\d+)?"
_NAME = r"[\w./-]+"
# Patterns are compiled with the first line that is read, which is after the first frame.
_RECORD = (
    rf"{_STAMP} (?P<level>{_NAMES}) (?P<name>{_NAME})(?:\[(?P<row>\d+)\])?: "
    rf"|{_STAMP.replace('time', 'time2')} - (?P<name2>{_NAME}) - (?P<level2>{_NAMES}) - "
    rf"|(?P<level3>{_NAMES}):(?P<name3>{_NAME}):"
)
_PRINTED = rf"{_STAMP} PRINT(?:\[(?P<row>\d+)\])? ".encode()
_PYTHON_WARNING = r"\S+:\d+: \w*Warning: "
_TRACEBACK = "Traceback (most recent call last)"
_CAUSES = ("The above exception was the direct", "During handling of the above")


def whole_lines(read: bytes, *, full: bool, final: bool = False) -> bytes:
    """The part of some bytes up to the end of their last whole line.

    A line longer than they are (`full`), and the last one (`final`), are taken as they are.
    """
    whole = read[: read.rfind(b"\n") + 1]
    return read if final or (full and not whole) else whole


class LogRecord(NamedTuple):
    """One log record, ready to be shown."""

    offset: int
    """Its offset in the log, in bytes, which no other record has."""
    level: int
    time: str
    """Time of the log, to the second; empty where it has none."""
    name: str
    """Name of the logger, without the prefix of all of ours."""
    lines: list[str]
    """Printable lines of the message; more may follow the first one."""
    row: int = -1
    """Row of its rollout; -1 for none."""


class LogParser:
    """Parser of log lines that come bit by bit."""

    def __init__(self) -> None:
        self._last: LogRecord | None = None
        self._traceback = ""
        """`within` one, after its `end`, or nothing."""
        self._printed = (False, -1)
        """Whether the last record came from a line that was printed, with its time, and by whom."""

    def parse(self, data: bytes, offset: int) -> tuple[list[str], list[LogRecord]]:
        """The records of whole lines, which begin at an offset of the log.

        Returns:
            Lines that still belong to the last record of what was parsed before, and the rest.
        """
        before = self._last
        late: list[str] = []
        found: list[LogRecord] = []
        for raw in data.removesuffix(b"\n").split(b"\n"):
            printed = re.match(_PRINTED, raw)
            line = _as_shown(raw[printed.end() :] if printed else raw)
            time = printed["time"].decode() if printed else ""
            row = int(printed["row"]) if printed and printed["row"] else -1
            if (record := self._begun(line, offset, time, row)) is not None:
                self._last = record
                found.append(record)
            elif self._last is not None and (line or self._traceback):
                (late if self._last is before else self._last.lines).append(line)
            offset += len(raw) + 1
        return late, found

    def _begun(self, line: str, offset: int, printed: str, row: int) -> LogRecord | None:
        """The record that a line begins; None where it continues the last one, or is blank.

        Args:
            printed: When it was printed, where the log says.
            row: Row of the rollout that printed it; -1 for none.
        """
        if not line:
            return None
        if self._printed != (bool(printed), row):
            self._printed = bool(printed), row
            self._traceback, before = "", None
        else:
            before = self._last
        if found := re.match(_RECORD, line):
            self._traceback = ""
            parts = {name.rstrip("23"): part for name, part in found.groupdict().items() if part}
            name = parts["name"].removeprefix("tui_eval.")
            message = line[found.end() :]
            level = _LEVELS[parts["level"]]
            row = int(parts.get("row", row))
            return LogRecord(offset, level, parts.get("time", printed), name, [message], row)
        if line.startswith(_TRACEBACK):
            continues = bool(self._traceback) or _is_of_logger(before, WARNING)
            self._traceback = "within"
            return None if continues else LogRecord(offset, ERROR, printed, "", [line], row)
        if self._continues(line, before):
            return None
        level = WARNING if re.match(_PYTHON_WARNING, line) else OUTPUT
        return LogRecord(offset, level, printed, "", [line], row)

    def _continues(self, line: str, before: LogRecord | None) -> bool:
        if self._traceback:
            if line.startswith((" ", *_CAUSES)):
                self._traceback = "within"
                return True
            is_the_exception = self._traceback == "within"
            self._traceback = "end" if is_the_exception else ""
            return is_the_exception
        is_of_another = _is_of_logger(before, DEBUG) or (
            before is not None and before.level == WARNING
        )
        return is_of_another and line.startswith(" ")


def _is_of_logger(record: LogRecord | None, least: int) -> bool:
    return record is not None and bool(record.name) and record.level >= least


def _as_shown(raw: bytes) -> str:
    """A line as a terminal leaves it: what a carriage return wrote over is gone."""
    text = raw.decode("utf-8", "replace").rstrip("\r")
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    return printable(text).rstrip()


Read: TypeAlias = Callable[[int, int], tuple[bytes, int]]

PIECE = 1 << 20
"""Bytes that are read and parsed at once."""
MOST_BYTES = 4 << 20
MOST_RECORDS = 16_000
"""Limits of a window; a fuller one drops half."""


class LogPiece(NamedTuple):
    """Result of one read: lines of the record before it, then records of its own."""

    begin: int
    end: int
    """Its bytes in the log."""
    late: list[str]
    """Lines that belong to the last record of what was read before."""
    records: list[LogRecord]
    restarts: bool = False
    """Whether the window restarts with it, because it begins elsewhere."""


class LogWindow:
    """Window on a log: its records between two places. Reading has two steps.

    `newer` and `older` read and parse, and may run in one thread; `take` and `take_older`
    put the result into `records`.

    Args:
        read: Gives bytes of the log from a place on, and its size: see `Feed.log`.
    """

    def __init__(self, read: Read) -> None:
        self.records: list[LogRecord] = []
        self.begin = self.end = 0
        self.begun = 0
        """Number of its restarts at another place."""
        self._read = read
        self._parser = LogParser()

    @property
    def is_full(self) -> bool:
        """Whether it is over its limits."""
        return self.end - self.begin > MOST_BYTES or len(self.records) > MOST_RECORDS

    def newer(self, *, final: bool, skips: bool) -> LogPiece | None:
        """Reads the next piece; None where there is none.

        Args:
            final: Nobody writes to the log any more.
            skips: Begins near the end of the log where that is far away.
        """
        read, size = self._read(self.end, PIECE)
        at, restarts = self.end, size < self.end
        if restarts or (skips and size - at > MOST_BYTES // 2):
            at, restarts = max(size - MOST_BYTES // 2, 0), True
            read, size = self._read(at, PIECE)
        full = len(read) == PIECE
        whole = whole_lines(read, full=full, final=final and at + len(read) == size)
        if restarts:
            self._parser = LogParser()
            cut = _first_line(whole) if at else 0
            at, whole = at + cut, whole[cut:]
        if not whole and not restarts:
            return None
        late, records = self._parser.parse(whole, at) if whole else ([], [])
        return LogPiece(at, at + len(whole), late, records, restarts)

    def take(self, piece: LogPiece, *, drops: bool) -> None:
        """Appends the next piece; may drop the oldest records where there are too many."""
        if piece.restarts:
            self.records, self.begin = [], piece.begin
            self.begun += 1
        if piece.late and self.records:
            self.records[-1].lines.extend(piece.late)
        self.records += piece.records
        self.end = piece.end
        if drops and self.is_full:
            wanted = bisect_left(
                self.records, self.end - MOST_BYTES // 2, key=lambda record: record.offset
            )
            del self.records[: max(wanted, len(self.records) - MOST_RECORDS // 2)]
            self.begin = self.records[0].offset if self.records else self.end

    def older(self) -> LogPiece | None:
        """Reads the piece before the window; None where there is none."""
        at = max(self.begin - PIECE, 0)
        read, _ = self._read(at, self.begin - at)
        cut = _first_line(read) if at else 0
        if self.begin == 0 or len(read) < self.begin - at:
            return None
        _, records = LogParser().parse(read[cut:], at + cut)
        return LogPiece(at + cut, self.begin, [], records)

    def take_older(self, piece: LogPiece) -> None:
        """Puts a piece in front; drops the newest records where there are too many."""
        self.records[:0] = piece.records
        self.begin = piece.begin
        if self.is_full:
            kept = bisect_left(
                self.records, self.begin + MOST_BYTES, key=lambda record: record.offset
            )
            kept = min(kept, MOST_RECORDS)
            if kept < len(self.records):
                self.end = self.records[kept].offset
                self._parser = LogParser()
                del self.records[kept:]


def _first_line(read: bytes) -> int:
    """Length of the cut line at the begin; 0 where it has no end here."""
    return read.find(b"\n") + 1

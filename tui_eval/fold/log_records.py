"""What a run logged, as records: a line of its loggers, a traceback, or a line that was printed."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    """What was read up to the end of its last whole line.

    A longer line than was requested (`full`), and the last one (`final`), are taken as they are.
    """
    whole = read[: read.rfind(b"\n") + 1]
    return read if final or (full and not whole) else whole


class LogRecord(NamedTuple):
    """One thing that was logged, ready to be shown.

    Args:
        offset: Where it begins in the log, in bytes: no other record has the same.
        time: As the log has it, by the second; empty where it does not say.
        name: Of the logger, without what all of ours begin with.
        lines: Of the message, printable; those after the first may still grow in number.
    """

    offset: int
    level: int
    time: str
    name: str
    lines: list[str]
    row: int = -1
    """Of the rollout that it belongs to; -1 for none."""


class LogParser:
    """Finds the records in lines that come bit by bit."""

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
            row: Of the rollout that printed it; -1 for none.
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
            goes_on = bool(self._traceback) or _is_of_logger(before, WARNING)
            self._traceback = "within"
            return None if goes_on else LogRecord(offset, ERROR, printed, "", [line], row)
        if self._goes_on(line, before):
            return None
        level = WARNING if re.match(_PYTHON_WARNING, line) else OUTPUT
        return LogRecord(offset, level, printed, "", [line], row)

    def _goes_on(self, line: str, before: LogRecord | None) -> bool:
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

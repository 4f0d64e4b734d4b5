"""The part of a log that is held in memory: its end at first, and what is requested."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tui_eval.fold.log_records import LogParser, LogRecord, whole_lines

Read: TypeAlias = Callable[[int, int], tuple[bytes, int]]

PIECE = 1 << 20
"""Bytes that are read and parsed at a time."""
MOST_BYTES = 4 << 20
MOST_RECORDS = 16_000
"""What a window holds; where it is more, half is let go of."""


class LogPiece(NamedTuple):
    """What was read at once: lines of the record before it, then records of its own.

    Args:
        begin, end: Which bytes of the log it is.
        late: Lines that belong to the last record of what was read before.
        anew: Whether it does not go on where the window ends.
    """

    begin: int
    end: int
    late: list[str]
    records: list[LogRecord]
    anew: bool = False


class LogWindow:
    """Records between two places of a log. What is read comes in two steps.

    `newer` and `older` read and parse, and may run in a thread, one at a time; `take` and
    `take_older` put what they found into `records`.

    Args:
        read: Gives bytes of the log from a place on, and its size: see `Feed.log`.
    """

    def __init__(self, read: Read) -> None:
        self.records: list[LogRecord] = []
        self.begin = self.end = 0
        self.begun = 0
        """How often it was begun again, at another place."""
        self._read = read
        self._parser = LogParser()

    @property
    def is_full(self) -> bool:
        """Whether it holds as much as it may."""
        return self.end - self.begin > MOST_BYTES or len(self.records) > MOST_RECORDS

    def newer(self, *, final: bool, skips: bool) -> LogPiece | None:
        """What comes next; None where nothing does.

        Args:
            final: Nobody writes to the log any more.
            skips: Begins near the end of the log where that is far away.
        """
        read, size = self._read(self.end, PIECE)
        at, anew = self.end, size < self.end
        if anew or (skips and size - at > MOST_BYTES // 2):
            at, anew = max(size - MOST_BYTES // 2, 0), True
            read, size = self._read(at, PIECE)
        full = len(read) == PIECE
        whole = whole_lines(read, full=full, final=final and at + len(read) == size)
        if anew:
            self._parser = LogParser()
            cut = _first_line(whole) if at else 0
            at, whole = at + cut, whole[cut:]
        if not whole and not anew:
            return None
        late, records = self._parser.parse(whole, at) if whole else ([], [])
        return LogPiece(at, at + len(whole), late, records, anew)

    def take(self, piece: LogPiece, *, drops: bool) -> None:
        """Puts what comes next behind the rest; may drop the oldest where it is too much."""
        if piece.anew:
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
        """What comes before the window; None where nothing does."""
        at = max(self.begin - PIECE, 0)
        read, _ = self._read(at, self.begin - at)
        cut = _first_line(read) if at else 0
        if self.begin == 0 or len(read) < self.begin - at:
            return None
        _, records = LogParser().parse(read[cut:], at + cut)
        return LogPiece(at + cut, self.begin, [], records)

    def take_older(self, piece: LogPiece) -> None:
        """Puts it in front; where it is too much then, what is newest goes, to be read again."""
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
    """How long the line is that begins in the middle; 0 where it has no end here."""
    return read.find(b"\n") + 1

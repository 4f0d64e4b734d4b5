"""Which records of a log are shown, and on which lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable

from textual.cache import LRUCache

from tui_eval.fold.log_records import LogRecord
from tui_eval.fold.log_window import LogWindow
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.log.lines import Body, body, height, holds, left_out, log_line


class LogLayout:
    """The records of a window from a level on, one under the other.

    Args:
        window: Where the records come from.
    """

    def __init__(self, window: LogWindow) -> None:
        self.window = window
        self.records: list[LogRecord] = []
        self.count = 0
        """Lines of all of them."""
        self.limits: dict[int, int] = {}
        """Lines that a record may take, by its offset, where it is unfolded."""
        self.room = 1
        """Cells of a line after the margin."""
        self._starts: list[int] = []
        self._used = 0
        self._laid_out: Hashable = None
        self._bodies: LRUCache[Hashable, Body] = LRUCache(512)
        self._found_of: Hashable = None
        self._found: list[int] = []

    def lay_out(self, room: int, least: int) -> bool:
        """Takes in what is new; returns whether lines that were there may have moved.

        Args:
            least: The least level that is shown.
        """
        window, limits = self.window, tuple(self.limits.items())
        facts = (room, least, limits, window.begin, window.begun)
        moved = facts != self._laid_out
        if moved:
            self._laid_out, self.room = facts, room
            self.records, self._starts, self.count, self._used = [], [], 0, 0
            if window.begin:
                self._add(left_out(window.begin))
        elif self._used and self.records and self.records[-1] is window.records[self._used - 1]:
            self.count = self._starts.pop()  # it may have grown
            self.records.pop()
            self._used -= 1
        for record in window.records[self._used :]:
            if record.level >= least:
                self._add(record)
        self._used = len(window.records)
        return moved

    def _add(self, record: LogRecord) -> None:
        self.records.append(record)
        self._starts.append(self.count)
        self.count += height(record, self.room, self.limits.get(record.offset))

    def at_line(self, index: int) -> int:
        """Which of the records has this line."""
        return bisect_right(self._starts, index) - 1

    def at_offset(self, offset: int) -> int:
        """Which of the records begins here in the log, or else the one before."""
        return max(bisect_right(self.records, offset, key=lambda record: record.offset) - 1, 0)

    def span(self, at: int) -> tuple[int, int]:
        """First line of a record and the one after its last."""
        end = self._starts[at + 1] if at + 1 < len(self._starts) else self.count
        return self._starts[at], end

    def is_cut(self, record: LogRecord) -> bool:
        """Whether not all of a record is shown."""
        return self._body(record).is_cut

    def _body(self, record: LogRecord) -> Body:
        limit = self.limits.get(record.offset)
        key = (record.offset, len(record.lines), record.lines[0], self.room, limit)
        shown = self._bodies.get(key)
        if shown is None:
            shown = self._bodies[key] = body(record, self.room, limit)
        return shown

    def line(self, index: int, needle: str, cursor: int) -> Line:
        """One line, with what is searched for lit.

        Args:
            cursor: Where the selected record begins in the log.
        """
        at = self.at_line(index)
        record = self.records[at]
        shown, place = self._body(record), index - self._starts[at]
        return log_line(record, shown, place, self.room, needle, record.offset == cursor)

    def key(self, index: int) -> Hashable:
        """A value that determines the line, but for what is lit."""
        at = self.at_line(index)
        record = self.records[at]
        place, limit = index - self._starts[at], self.limits.get(record.offset)
        return (record.offset, len(record.lines), place, limit, self.room, self.window.begin)

    def found(self, needle: str) -> list[int]:
        """Which of the records have a text, given in small letters; looked for once."""
        looked_for = (needle, self._laid_out, self.window.end)
        if looked_for != self._found_of:
            self._found_of = looked_for
            self._found = [at for at, one in enumerate(self.records) if holds(one, needle)]
        return self._found

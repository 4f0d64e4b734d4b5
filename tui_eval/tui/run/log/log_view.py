"""Records of a log under a cursor: read while it grows, laid out, walked through."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

from tui_eval.fold.log_records import DEBUG, ERROR, OUTPUT, WARNING, LogPiece, LogRecord, LogWindow
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.log.lines import MARGIN, LogLayout

if TYPE_CHECKING:
    from tui_eval.feeds.feed import Feed

POLL_S = 0.4
FILTERS = ((DEBUG, ""), (OUTPUT, "without debug"), (WARNING, "warnings, errors"), (ERROR, "errors"))
EMPTY_LOG: Line = (("nothing was logged", "faint"),)
EMPTY_SO_FAR: Line = (("nothing was logged yet", "faint"),)
NOTHING_LEFT: Line = (("nothing of this level", "faint"), ("  L shows other levels", "faint"))


class LogView(LineView):
    """Records under a cursor; sticks to the end until somebody moves away from it.

    `is_current` says whether all that there was to read was read when it was looked for last.
    """

    moves_add_up = False

    def __init__(self, feed: Feed, *, id: str) -> None:
        super().__init__(id=id)
        self.needle = ""
        self.filter = 0
        self.show_log(feed)

    def show_log(self, feed: Feed) -> None:
        """Shows the log of another run, from its end."""
        self.feed = feed
        self.window = LogWindow(feed.log)
        self.lines = LogLayout(self.window)
        self.sticks = True
        self.is_current = False
        self.cursor = -1
        """Where the selected record begins in the log."""
        self.pill = ""
        self._reading = self._wants_older = False
        self._seen = -1
        self._words = ("", False)

    def on_mount(self) -> None:
        """Looks for what was added a few times a second, while the pane can be seen."""
        self._polling = self.set_interval(POLL_S, self.poll, pause=True)

    def on_show(self) -> None:
        """Reads at once what was added while nobody saw it."""
        self._polling.resume()
        self.poll()

    def on_hide(self) -> None:
        """Nobody sees it: nothing is read."""
        self._polling.pause()

    def poll(self) -> None:
        """Reads what was added, unless that goes on already."""
        if not self._reading and self.size.height and (self.sticks or not self.window.is_full):
            final = not self.feed.live
            self._read(partial(self.window.newer, final=final, skips=self.sticks))

    def _read(self, find: Callable[[], LogPiece | None], older: bool = False) -> None:
        self._reading = True
        self.run_worker(self._take(self.window, find, older), group="log")

    async def _take(
        self, window: LogWindow, find: Callable[[], LogPiece | None], older: bool
    ) -> None:
        piece = await asyncio.to_thread(find)
        if window is not self.window:
            return
        self._reading = False
        self.is_current = piece is None
        if piece is not None:
            if older:
                window.take_older(piece)
            else:
                window.take(piece, drops=self.sticks)
            self.update()
        if self._wants_older:
            self._read_older()
        elif piece is not None:
            self.poll()

    # -- lines

    def count(self) -> int:
        """Lines of the records that are shown."""
        return max(self.lines.count, 1)

    def line(self, index: int) -> Line:
        """One line of a record."""
        if not self._records:
            empty = EMPTY_SO_FAR if self.feed.live else EMPTY_LOG
            return NOTHING_LEFT if self.window.records else empty
        return self.lines.line(index, self.needle, self.cursor)

    def key(self, index: int) -> Hashable:
        """The record with its length, and which of its lines it is."""
        if not self._records:
            return self.line(index)
        return (self.needle, self.lines.key(index))

    def marked(self, index: int) -> bool:
        """The lines of the selected record."""
        lines = self.lines
        return bool(lines.records) and lines.records[lines.at_line(index)].offset == self.cursor

    @property
    def _records(self) -> list[LogRecord]:
        return self.lines.records

    @property
    def _here(self) -> int:
        return self.lines.at_offset(self.cursor)

    @property
    def _selected(self) -> LogRecord | None:
        return self._records[self._here] if self._records else None

    def update(self) -> None:
        """Lays out what is new and draws what changed; who reads keeps the place."""
        if not self.size.width:
            return
        top = self._top()
        moved = self.lines.lay_out(max(self.line_width - MARGIN, 8), FILTERS[self.filter][0])
        if (record := self._selected) is not None:
            self.cursor = record.offset
        self._announce_new()
        super().update()
        if self.sticks:
            self._to_end()
        elif moved and top is not None and self._records:
            start, end = self.lines.span(self.lines.at_offset(top[0]))
            self.jump(min(start + top[1], end - 1))
        if self.has_focus and (words := (self.fold_word, bool(self.window.records))) != self._words:
            self._words = words
            self.post_message(self.Retitled())

    def _top(self) -> tuple[int, int] | None:
        """Where the first record that can be seen begins, and how much of it is above."""
        lines = self.lines
        if not lines.records:
            return None
        y = min(self.scroll_offset.y, lines.count - 1)
        at = lines.at_line(y)
        if lines.records[at].offset < 0 and len(lines.records) > 1:
            at += 1  # what says how much is left out has no place in the log
        return lines.records[at].offset, y - lines.span(at)[0]

    def _announce_new(self) -> None:
        """Counts what came in since somebody moved away from the end."""
        newest = self._records[-1].offset if self._records else -1
        if self.sticks:
            self._seen = newest
        new = len(self._records) - 1 - self.lines.at_offset(self._seen) if self._records else 0
        more = "+" if self.window.is_full and not self.sticks else ""
        self.pill = f"▼ {new:,}{more} new" if new or more else ""

    def _to_end(self) -> None:
        if self._records:
            self.cursor = self._seen = self._records[-1].offset
        if not self.at_end:
            self.jump(self.max_scroll_y)

    # -- moving

    def put(self) -> None:
        """Somebody reads: lets go of the end, of this pane alone."""
        self.sticks = False

    def _select(self, at: int) -> None:
        if not self._records:
            return
        at = min(max(at, 0), len(self._records) - 1)
        self.cursor = self._records[at].offset
        start, end = self.lines.span(at)
        self.show_line(min(end - 1, start + self.view_height - 1))
        self.show_line(start)
        self.update()

    def action_move(self, by: int) -> None:
        """Selects the next or previous record, or scrolls within one that does not fit."""
        if not self._records:
            return
        self.put()
        at = self._here
        start, end = self.lines.span(at)
        top, height = self.scroll_offset.y, self.view_height
        if by > 0 and end > top + height:
            self.jump(top + 1)
        elif by < 0 and start < top:
            self.jump(top - 1)
        else:
            self._select(at + by)

    def scroll_lines(self, lines: int) -> None:
        """Scrolls, and takes the cursor along into what can be seen."""
        super().scroll_lines(lines)
        self.call_after_refresh(self._catch_cursor)

    def _catch_cursor(self) -> None:
        if not self._records:
            return
        top = self.scroll_offset.y
        first, last = map(self.lines.at_line, (top, top + self.view_height - 1))
        if self.lines.span(first)[0] < top and first < last:
            first += 1
        self.cursor = self._records[min(max(self._here, first), last)].offset
        self.update()

    def action_top(self) -> None:
        """Selects the first record."""
        self.put()
        self._select(0)

    def action_bottom(self) -> None:
        """Goes to the end and stays there while the log grows."""
        self.sticks = True
        self.update()
        self.poll()

    def _go_to(self, places: list[int], by: int) -> None:
        """Selects the next or previous of these records, around the end."""
        if not places:
            return
        here = self._here
        at = bisect_right(places, here) if by > 0 else bisect_left(places, here) - 1
        self.put()
        self._select(places[at % len(places)])

    def _read_older(self) -> None:
        self._wants_older = self._reading  # then it comes next
        if not self._reading:
            self.put()
            if len(self._records) > 1:
                self.cursor = self._records[1].offset
            self._read(self.window.older, older=True)

    @property
    def fold_word(self) -> str:
        """What enter does with the selected record, in a word; empty where it does nothing."""
        raise NotImplementedError

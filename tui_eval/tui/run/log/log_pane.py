"""The log of a run: output of the engine and of people's code, by level."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from tui_eval.fold.log_records import DEBUG, ERROR, OUTPUT, WARNING, LogPiece, LogRecord, LogWindow
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_list import PieceView
from tui_eval.tui.base.lines.line_view import ALL_SHOWN, NO_SEARCH, NOT_FOLDED
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.log.lines import MARGIN, STEP, UNFOLDED, LogLayout

if TYPE_CHECKING:
    from tui_eval.feeds.feed import Feed

POLL_S = 0.4
FILTERS = ((DEBUG, ""), (OUTPUT, "without debug"), (WARNING, "warnings, errors"), (ERROR, "errors"))
NOTHING_LEFT: Line = (("nothing of this level", "faint"), ("  L shows other levels", "faint"))


class LogPane(PieceView):
    """Records under a cursor; sticks to the end of a log that grows until somebody moves away.

    They are unfolded, filtered by level, searched, and lead to their rollouts. `is_current` says
    whether the last poll read all that there was.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("log")

    @dataclass
    class Opened(Message):
        """Somebody wants to read the rollout that a record belongs to."""

        row: int

    def __init__(self, feed: Feed, *, id: str) -> None:
        super().__init__(id=id)
        self.needle = ""
        self.typed: TextLine | None = None
        """The search being typed; None where none is."""
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
        """Polls for new records a few times a second, while the pane is visible."""
        self._polling = self.set_interval(POLL_S, self.poll, pause=True)

    def on_show(self) -> None:
        """Polls at once when the pane is shown."""
        self._polling.resume()
        self.poll()

    def on_hide(self) -> None:
        """Stops polling: the pane is hidden."""
        self._polling.pause()

    def poll(self) -> None:
        """Reads new records, unless that is under way."""
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

    def count(self) -> int:
        return max(self.lines.count, 1)

    def line(self, index: int) -> Line:
        if not self._records:
            so_far = " yet" if self.feed.live else ""
            nothing: Line = ((f"nothing was logged{so_far}", "faint"),)
            return NOTHING_LEFT if self.window.records else nothing
        return self.lines.line(index, self.needle, self.cursor)

    def key(self, index: int) -> Hashable:
        if not self._records:
            return self.line(index)
        return (self.needle, self.lines.key(index))

    @property
    def _records(self) -> list[LogRecord]:
        return self.lines.records

    @property
    def _selected(self) -> LogRecord | None:
        return self._records[self.here] if self._records else None

    def pieces(self) -> int:
        return len(self._records)

    def piece_at(self, line: int) -> int:
        return self.lines.at_line(line)

    def span(self, piece: int) -> tuple[int, int]:
        return self.lines.span(piece)

    @property
    def here(self) -> int:
        return self.lines.at_offset(self.cursor)

    def hold(self, piece: int) -> None:
        """Selects a record by where it begins: others may come before it."""
        self.cursor = self._records[piece].offset

    def update(self) -> None:
        """Adds new records and draws changes; the reading position stays."""
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
        """The offset of the first visible record, and its lines above the view."""
        lines = self.lines
        if not lines.records:
            return None
        y = min(self.scroll_offset.y, lines.count - 1)
        at = lines.at_line(y)
        if lines.records[at].offset < 0 and len(lines.records) > 1:
            at += 1  # the record of what is left out has no place in the log
        return lines.records[at].offset, y - lines.span(at)[0]

    def _announce_new(self) -> None:
        """Counts records since somebody moved away from the end."""
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

    def put(self) -> None:
        """Stops following the end, in this pane alone: somebody reads."""
        self.sticks = False

    def leave_end(self, by: int) -> None:
        self.put()

    def action_bottom(self) -> None:
        """Goes to the end and stays there while the log grows."""
        self.sticks = True
        self.update()
        self.poll()

    def _go_to(self, places: list[int], by: int) -> None:
        """Selects the next or previous of these records, around the end."""
        if not places:
            return
        here = self.here
        at = bisect_right(places, here) if by > 0 else bisect_left(places, here) - 1
        self.put()
        self.select_piece(places[at % len(places)])

    def _read_older(self) -> None:
        self._wants_older = self._reading  # then it comes next
        if not self._reading:
            self.put()
            if len(self._records) > 1:
                self.cursor = self._records[1].offset
            self._read(self.window.older, older=True)

    @property
    def fold_word(self) -> str:
        """The footer word of enter for the selected record; empty where it does nothing."""
        record = self._selected
        if record is None or record.offset < 0:
            return "" if record is None else "read older"
        if record.row >= 0:
            return "rollout"
        can_be_folded = record.offset in self.lines.limits
        return "unfold" if self.lines.is_cut(record) else "fold" if can_be_folded else ""

    def action_switch_fold(self) -> None:
        """Opens the rollout of the selected record; without one unfolds it, or reads more."""
        record, word = self._selected, self.fold_word
        if record is None:
            return
        if word == "read older":
            self._read_older()
        elif word == "rollout":
            self.post_message(self.Opened(record.row))
        elif word == "fold":
            self.action_fold()
        else:
            self.action_unfold()

    def action_unfold(self) -> None:
        """Shows more of the selected record."""
        record, limits = self._selected, self.lines.limits
        if record is None or not self.lines.is_cut(record):
            self.post_message(self.Missed(ALL_SHOWN))
        else:
            limit = limits.get(record.offset)
            limits[record.offset] = UNFOLDED if limit is None else limit + STEP
            self._stay_here()

    def action_fold(self) -> None:
        """Shows the begin of the selected record."""
        if self.lines.limits.pop(self.cursor, None) is None:
            self.post_message(self.Missed(NOT_FOLDED))
        else:
            self._stay_here()

    def _stay_here(self) -> None:
        self.put()
        self.update()
        self.select_piece(self.here)

    def action_level(self) -> None:
        """Shows the next of the filters: all, info, warnings, errors."""
        self.filter = (self.filter + 1) % len(FILTERS)
        self.update()
        if not self.sticks:
            self.select_piece(self.here)
        self.post_message(self.Retitled())

    def action_log_error(self, by: int) -> None:
        """Goes to the next or previous error in the log, around the end."""
        errors = [at for at, record in enumerate(self._records) if record.level == ERROR]
        if not errors or errors == [self.here]:
            other = "other " if errors else ""
            self.post_message(self.Missed(f"There is no {other}error in this part of the log."))
        self._go_to(errors, by)

    def clicked(self, index: int) -> None:
        """Selects a record; a click on the selected one unfolds or folds it."""
        if not self._records:
            return
        offset = self._records[self.lines.at_line(index)].offset
        if offset == self.cursor:
            self.action_switch_fold()
        else:
            self.put()
            self.cursor = offset
            self.update()

    def action_search(self) -> None:
        """Begins typing a search."""
        self._type(TextLine())

    def _type(self, typed: TextLine | None) -> None:
        self.typed = typed
        self.post_message(self.Retitled())

    def on_key(self, event: events.Key) -> None:
        """Types the search; escape closes that, then ends the search."""
        begins = self.typed is None and event.key == "slash"
        if self.typed is None and not begins and not (event.key == "escape" and self.needle):
            return
        event.stop()
        event.prevent_default()
        if begins:  # not by its binding, which would come after keys that are typed fast
            self.action_search()
        elif event.key == "escape" and self.typed is not None:
            self._type(None)
        elif event.key == "escape":
            self._search("")
        elif event.key == "enter":
            self._search((self.typed and self.typed.text) or self.needle)
        elif self.typed is not None and type_into(self.typed, event):
            self._type(self.typed)

    def on_focus(self) -> None:
        self.post_message(self.Retitled())

    def on_blur(self) -> None:
        """Ends typing."""
        self._type(None)

    def _search(self, needle: str) -> None:
        self.needle = needle.lower()
        self._type(None)
        if self.needle and self.here not in self.lines.found(self.needle):
            self.action_found(1)
        self.update()

    def action_found(self, by: int) -> None:
        """Goes to the next or previous record with a match."""
        if self.needle:
            self._go_to(self.lines.found(self.needle), by)
            self.post_message(self.Retitled())
        else:
            self.post_message(self.Missed(NO_SEARCH.format(key_for("log.search"))))

"""The log of a run: what the engine and people's code printed, by level."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from tui_eval.fold.log_records import ERROR
from tui_eval.tui.base.keys.keymap import key_for, search_keys
from tui_eval.tui.base.keys.registry import bindings
from tui_eval.tui.base.lines.line_view import ALL_SHOWN, NO_SEARCH, NOT_FOLDED
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.run.log.lines import STEP, UNFOLDED
from tui_eval.tui.run.log.log_view import FILTERS, LogView

if TYPE_CHECKING:
    from tui_eval.feeds.feed import Feed

BESIDE = 17
"""Cells beside the words of a title: its ends, and the numbers of other panes."""


class LogPane(LogView):
    """The log with what is done with its records: they are unfolded, left out by level, searched,
    and lead to the rollouts that they belong to.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("log")

    class Opened(Message):
        """Somebody wants to read the rollout that a record belongs to."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, feed: Feed, *, id: str) -> None:
        super().__init__(feed, id=id)
        self.typed: TextLine | None = None
        """What was typed of a search that has not begun."""

    # -- folding and levels

    @property
    def fold_word(self) -> str:
        """What enter does with the selected record, in a word; empty where it does nothing."""
        record = self._selected
        if record is None or record.offset < 0:
            return "" if record is None else "read older"
        if record.row >= 0:
            return "rollout"
        can_be_folded = record.offset in self.lines.limits
        return "unfold" if self.lines.is_cut(record) else "fold" if can_be_folded else ""

    def action_switch_fold(self) -> None:
        """Opens the rollout of the selected record. Of one that has none, shows all of it, or less
        again; reads on where that is what it says.
        """
        record = self._selected
        if record is None:
            return
        if record.offset < 0:
            self._read_older()
        elif record.row >= 0:
            self.post_message(self.Opened(record.row))
        elif record.offset in self.lines.limits and not self.lines.is_cut(record):
            self.action_fold()
        else:
            self.action_unfold()

    def action_unfold(self) -> None:
        """Shows more of the selected record."""
        record = self._selected
        if record is None or not self.lines.is_cut(record):
            self.post_message(self.Missed(ALL_SHOWN))
        else:
            limit = self.lines.limits.get(record.offset)
            self._set_limit(record.offset, UNFOLDED if limit is None else limit + STEP)

    def action_fold(self) -> None:
        """Shows the begin of the selected record."""
        if self.cursor in self.lines.limits:
            self._set_limit(self.cursor, None)
        else:
            self.post_message(self.Missed(NOT_FOLDED))

    def _set_limit(self, offset: int, limit: int | None) -> None:
        self.put()
        if limit is None:
            self.lines.limits.pop(offset, None)
        else:
            self.lines.limits[offset] = limit
        self.update()
        self._select(self.lines.at_offset(offset))

    def action_level(self) -> None:
        """Shows the next of the filters: all, info, warnings, errors."""
        self.filter = (self.filter + 1) % len(FILTERS)
        self.update()
        if not self.sticks:
            self._select(self._here)
        self.post_message(self.Retitled())

    def action_log_error(self, by: int) -> None:
        """Goes to the next or previous error in the log, around the end."""
        errors = [at for at, record in enumerate(self._records) if record.level == ERROR]
        if not errors or errors == [self._here]:
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

    # -- searching

    def action_search(self) -> None:
        """Lets somebody type what to search for."""
        self._type(TextLine())

    def _type(self, typed: TextLine | None) -> None:
        self.typed = typed
        self.post_message(self.Retitled())

    def on_key(self, event: events.Key) -> None:
        """Takes what is typed while a search is; escape closes that, then ends the search."""
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
        """Tells what can be done here."""
        self.post_message(self.Retitled())

    def on_blur(self) -> None:
        """Who goes away types no more."""
        self._type(None)

    def _search(self, needle: str) -> None:
        self.needle = needle.lower()
        self._type(None)
        if self.needle and self._here not in self.lines.found(self.needle):
            self.action_found(1)
        self.update()

    def action_found(self, by: int) -> None:
        """Goes to the next or previous record that has what is searched for."""
        if self.needle:
            self._go_to(self.lines.found(self.needle), by)
            self.post_message(self.Retitled())
        else:
            self.post_message(self.Missed(NO_SEARCH.format(key_for("log.search"))))

    def title(self) -> Content:
        """The pane's title: the level, and what is searched for."""
        parts = [f" {key_for('run.log')} Log"]
        if self.filter:
            parts.append(FILTERS[self.filter][1])
        if self.typed is not None:
            text, caret = self.typed.text, self.typed.caret
            parts.append(f"/{text[:caret]}▏{text[caret:]}")
        elif self.needle:
            found, here = self.lines.found(self.needle), self._here
            at = bisect_left(found, here)
            place = f"{at + 1:,}" if at < len(found) and found[at] == here else "–"
            parts.append(f"“{self.needle}” entry {place} of {len(found):,}")
            room = self.size.width - len(" · ".join(parts)) - BESIDE
            words = search_keys("log", bool(found)) if self.has_focus else ()
            parts += [keys for keys in words if len(keys) <= room][:1]
        return Content(" · ".join(parts) + " ")

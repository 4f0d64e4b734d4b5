"""The list of the rollouts of a run, one line each: filtered, sorted, one of them selected."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from tui_eval.fold.columns import Notes
from tui_eval.fold.row_order import Sorting
from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.lines.mouse_lines import key_in_line
from tui_eval.tui.base.lines.text_line import type_into
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.rollouts.filter_entry import FilterEntry, with_errors_only
from tui_eval.tui.run.rollouts.lines import RolloutLines
from tui_eval.tui.run.rollouts.listing import Listing

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout


class RolloutList(LineList):
    """The list of rollouts; the selected one is a row of the run, listed or not."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("list")
    heads = 1

    @dataclass
    class Selected(Message):
        """Another rollout is selected; `by_hand` where a person did it."""

        row: int
        by_hand: bool

    class Opened(Message):
        """Somebody wants to read the selected rollout."""

    class FollowWanted(Message):
        """Somebody went to the newest rollout."""

    class Arranged(Message):
        """Somebody chose columns, an order, or whether examples stay together."""

    def __init__(self, state: RunState, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.state = state
        self.row = 0
        self.listing = Listing(state)
        self.entry = FilterEntry(self.listing)
        self.lines = RolloutLines(self.listing, now)
        self.weighted: frozenset[str] = frozenset()
        """Metrics that count for the reward, as known from the rollouts that were read."""
        self._last_line = 0
        self._filter_lines: list[Line] = []
        self._seeks_listed = False
        self._order = self.listing.order
        """The order that is drawn."""

    def show_run(self, state: RunState, row: int) -> None:
        """Shows another run at this row, with the same filter and sorting."""
        self.state, self.row = state, row
        self.weighted = frozenset()
        self.listing.show_run(state)
        self._order = None
        self.lines.show_run()
        self.put_notes({})

    def put_notes(self, notes: Notes) -> None:
        """Shows other notes."""
        self.listing.notes = notes
        self.listing.change()
        self._redraw()

    def begin_with(self, columns: tuple[str, ...] | None, sorting: Sorting) -> None:
        """Sets columns and order as they were chosen before."""
        self.lines.chosen = columns
        self.listing.sorting = sorting

    def learn_of(self, rollout: Rollout | None) -> None:
        """Learns from a rollout which metrics count for the reward."""
        if rollout is not None:
            self.weighted |= {score.name for score in rollout.scores if score.weight}

    def watch_has_focus(self, has_focus: bool) -> None:
        """Redraws: how a filter is cleared is shown only with the focus."""
        super().watch_has_focus(has_focus)
        self.update()

    def on_unmount(self) -> None:
        """Ends all reading."""
        self.listing.give_up()

    def count(self) -> int:
        return self.listing.count()

    @property
    def line_selected(self) -> int:
        """The line of the selected rollout; -1 while it is not listed."""
        return self.listing.line(self.row)

    def marked(self, index: int) -> bool:
        return self.listing.row(index) == self.row

    def key(self, index: int) -> Hashable:
        return self.lines.key(self.listing.row(index), self.listing.brace(index))

    def line(self, index: int) -> Line:
        return self.lines.line(self.listing.row(index), self.listing.brace(index))

    def head(self, index: int) -> Line:
        if index < len(self._filter_lines):
            return self._filter_lines[index]
        listing = self.listing
        if listing.text and not listing.faults and not self.count() and self.state.total:
            words = "none found so far" if listing.may_find_more else "no rollout matches"
            return ((f"  {words}", "muted"),)
        if self.state.run is None:
            log = (f"  {key_for('run.log')}", "key"), (" goes to the log", "faint")
            return (("no rollouts yet", "faint"), *log)
        if not self.state.total:
            return (("  no rollouts yet", "faint"),)
        return self.lines.head()

    def update(self) -> None:
        """Finds the rows to list, then draws the changes."""
        listing = self.listing
        if listing.catch_up():
            self.run_worker(listing.keep_up(self.update), group="listing")
        if listing.has_new_search():
            search = listing.search_trajectories(self.update)
            self.run_worker(search, group="search", exclusive=True)
        self._filter_lines = self.entry.lines(self.line_width, self.has_focus)
        self.heads = 1 + len(self._filter_lines)
        top = self.scroll_offset.y
        last = min(top + self.size.height, self.count())
        rows = [listing.row(line) for line in range(top, last)]
        self.lines.fit(self.line_width, rows)
        super().update()
        if listing.order is not self._order:
            self._order = listing.order
            self._keep_in_place()
            self.post_message(self.Retitled())
        if self._seeks_listed and listing.is_answered and self.count():
            self._seeks_listed = False
            self.call_after_refresh(self._come_to_listed)

    def _keep_in_place(self) -> None:
        """Scrolls so that the selected rollout stays where it is on the screen."""
        line, before, top = self.line_selected, self._last_line, self.scroll_offset.y
        if line >= 0:
            self._last_line = line
            if line != before and top <= before < top + self.view_height:
                self.jump(top + line - before)

    def _redraw(self) -> None:
        self.update()
        self.post_message(self.Retitled())

    def sort(self, field: str | None) -> None:
        """Sorts by a field, or reverses it; empty for the run's order, None for the present."""
        if field is not None:
            self._arrange(self.listing.sorting.by(field))

    def action_reverse(self) -> None:
        self._arrange(self.listing.sorting.turned())

    def action_switch_groups(self) -> None:
        """Groups the rollouts by example, or ungroups them."""
        before = self.listing.sorting
        self._arrange(before._replace(grouped=not before.grouped))

    def _arrange(self, sorting: Sorting) -> None:
        self.listing.sorting = sorting
        self.listing.change()
        self.post_message(self.Arranged())
        self._redraw()
        self.call_after_refresh(self.show_row)

    def action_sort(self) -> None:
        """Asks which column to sort by."""
        from tui_eval.tui.run.rollouts.columns_dialog import SortMenu

        menu = SortMenu(self.state, self.listing.sorting, self.weighted)
        self.app.push_screen(menu, self.sort)

    def action_columns(self) -> None:
        """Asks which columns to show; says which have no room."""
        from tui_eval.tui.run.rollouts.columns_dialog import Chosen, ColumnChooser

        def answered(answer: Chosen | None) -> None:
            if answer is None:
                return
            self.lines.choose(answer[0])
            self.post_message(self.Arranged())
            self._redraw()
            if names := self.lines.left_out():
                has_others = self.size.width < self.screen.size.width
                zooms = f" {key_for('run.zoom')} zooms." if has_others else ""
                self.post_message(self.Missed(f"No room for {', '.join(names)}.{zooms}"))

        self.app.push_screen(ColumnChooser(self.lines, self.weighted), answered)

    def action_filter(self) -> None:
        self.entry.open()
        self._redraw()

    def filter_by(self, text: str) -> None:
        """Lists the rollouts that match a filter; empty for all."""
        self.entry.is_open = False
        if text != self.listing.text:
            self.listing.apply_filter(text)
        self._seeks_listed = True
        self._redraw()

    def action_errors_only(self) -> None:
        """Lists errored rollouts alone, or the others too."""
        self.filter_by(with_errors_only(self.listing.text))

    def on_key(self, event: events.Key) -> None:
        """Types a filter; escape clears one thing after the other."""
        if event.key == "escape":
            taken = self._take_back()
        elif not self.entry.is_open:
            return
        elif event.key in ("enter", "down", "up"):
            self.filter_by(self.listing.text)
            taken = True
        elif taken := type_into(self.entry.typed, event):
            self._typed()
        if taken:
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Pastes into the filter that is being typed."""
        if self.entry.is_open:
            event.stop()
            self.entry.typed.insert(event.text.strip())
            self._typed()

    def on_blur(self) -> None:
        """Ends typing; the filter stays."""
        if self.entry.is_open:
            self.entry.is_open = False
            self._redraw()

    def _typed(self) -> None:
        if self.entry.typed.text != self.listing.text:
            self.listing.apply_filter(self.entry.typed.text)
        self._redraw()

    def _take_back(self) -> bool:
        """Ends a search, else the filter; returns whether there was one."""
        if self.listing.give_up():
            self._redraw()
        elif self.entry.is_open or self.listing.text:
            self.entry.is_open = False
            self.listing.apply_filter("")
            self._seeks_listed = False
            self._redraw()
            self.call_after_refresh(self.show_row)
        else:
            return False
        return True

    def _come_to_listed(self) -> None:
        """Selects the first listed rollout, unless the selected one is listed."""
        if self.line_selected < 0:
            self.select_line(0)
        else:
            self.show_row()

    def head_clicked(self, x: int, index: int) -> None:
        """Sorts by a column, puts the caret into the filter, or clears that."""
        if index < len(self._filter_lines):
            if key_in_line(self._filter_lines[index], x) == "escape":
                self._take_back()
            elif not self.entry.is_open:
                self.action_filter()
            elif index == 0:
                self.entry.click(x)
                self.update()
        elif self.state.run is None:
            self.press_key_at(self.head(index), x)
        elif field := self.lines.field_at(x):
            self.sort(field)

    def select(self, row: int, by_hand: bool = True) -> None:
        row = min(max(row, 0), max(self.state.total - 1, 0))
        if row != self.row:
            self.row = row
            self.post_message(self.Selected(row, by_hand))
        elif by_hand:
            self.put()
        self.show_row()
        self.update()

    def show_row(self) -> None:
        """Scrolls to the selected rollout if it is listed."""
        line = self.line_selected
        if line >= 0:
            self._last_line = line
            self.show_line(line, margin=2)

    def select_line(self, line: int) -> None:
        """Selects the rollout at a line, or at the nearest one."""
        if self.count():
            self.select(self.listing.row(min(max(line, 0), self.count() - 1)))

    @property
    def here(self) -> int:
        """The line of the selected rollout, or where it was last."""
        line = self.line_selected
        return line if line >= 0 else min(self._last_line, self.count())

    def action_move(self, by: int) -> None:
        self.select_line(self.here + by)

    def action_top(self) -> None:
        self.select_line(0)

    def action_bottom(self) -> None:
        """Follows the newest rollout of a running run; selects the last line of one that ended."""
        self.post_message(self.FollowWanted())

    def action_open(self) -> None:
        """Goes to the trajectory, and stays with this rollout."""
        self.put()
        self.post_message(self.Opened())

    def clicked(self, index: int) -> None:
        if self.listing.row(index) == self.row:
            self.action_open()
        else:
            self.select(self.listing.row(index))

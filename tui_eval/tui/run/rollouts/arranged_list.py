"""How a list of rollouts is arranged: by what it is sorted, and which columns it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.run.rollouts.lines import RolloutLines
from tui_eval.tui.run.rollouts.listing import Listing
from tui_eval.tui.run.rollouts.row_order import Sorting

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout

LEAST_FIRST = ("example", "number", "row", "stage", "error", "stop", "tool", "question", "answer")
"""Fields that are sorted upwards at first; the others from the greatest down."""


class ArrangedList(LineList):
    """A list of rollouts whose columns and order people choose."""

    state: RunState
    listing: Listing
    lines: RolloutLines
    weighted: frozenset[str] = frozenset()
    """Metrics that are known to count for the reward, from the rollouts that were read."""

    class Rearranged(Message):
        """Other rollouts may be listed, or in another order."""

    class Arranged(Message):
        """Somebody chose columns, an order, or whether examples stay together."""

        def __init__(self, columns: tuple[str, ...] | None, sorting: Sorting) -> None:
            super().__init__()
            self.columns = columns
            self.sorting = sorting

    def begin_with(self, columns: tuple[str, ...] | None, sorting: Sorting) -> None:
        """Columns and order as they were chosen before; a run without them is as is usual."""
        self.lines.chosen = columns
        self.listing.sort(sorting)

    def learn_of(self, rollout: Rollout | None) -> None:
        """Takes in what a rollout tells of the run."""
        if rollout is not None:
            self.weighted |= {score.name for score in rollout.scores if score.weight}

    def show_row(self) -> None:
        """Scrolls to the selected rollout if it is listed."""
        raise NotImplementedError

    def _draw_anew(self) -> None:
        self.update()
        self.post_message(self.Rearranged())

    def sort(self, field: str) -> None:
        """Sorts by a field, the other way round where it sorts already; empty for the run's."""
        before = self.listing.sorting
        if field and field == before.field:
            self.action_reverse()
        else:
            down = field not in LEAST_FIRST and bool(field)
            self._arrange(before._replace(field=field, descending=down))

    def action_reverse(self) -> None:
        """Sorts the other way round."""
        before = self.listing.sorting
        field = before.field or "row"
        self._arrange(before._replace(field=field, descending=not before.descending))

    def action_switch_groups(self) -> None:
        """Keeps the rollouts of an example together, or does not."""
        before = self.listing.sorting
        self._arrange(before._replace(grouped=not before.grouped))

    def _arrange(self, sorting: Sorting) -> None:
        self.listing.sort(sorting)
        self.post_message(self.Arranged(self.lines.chosen, sorting))
        self._draw_anew()
        self.call_after_refresh(self.show_row)

    def action_sort(self) -> None:
        """Asks which column to sort by."""
        from tui_eval.tui.run.rollouts.columns_dialog import SortMenu

        def chosen(field: str | None) -> None:
            if field is not None:
                self.sort(field)

        menu = SortMenu(self.state, self.listing.sorting, self.weighted)
        self.app.push_screen(menu, chosen)

    def action_columns(self) -> None:
        """Asks which columns to show."""
        from tui_eval.tui.run.rollouts.columns_dialog import ColumnChooser, ColumnLines

        lines = self.lines
        columns = ColumnLines(self.state, lines.chosen, lines.shown, self.weighted)
        self.app.push_screen(ColumnChooser(columns), self._columns_chosen)

    def _columns_chosen(self, answer: tuple[tuple[str, ...] | None] | None) -> None:
        if answer is not None:
            self.lines.choose(answer[0])
            self.post_message(self.Arranged(self.lines.chosen, self.listing.sorting))
            self._draw_anew()
            if names := self.lines.left_out(self.listing.sorting.grouped):
                has_others = self.size.width < self.screen.size.width
                zooms = f" {key_for('run.zoom')} zooms." if has_others else ""
                self.post_message(self.Missed(f"No room for {', '.join(names)}.{zooms}"))

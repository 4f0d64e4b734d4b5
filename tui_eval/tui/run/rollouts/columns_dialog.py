"""Dialogs for the sorting and the columns of the list of rollouts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from textual.binding import BindingType

from tui_eval.fold.query.fields import FIELDS, METRIC
from tui_eval.fold.row_order import Sorting
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_list import Picking
from tui_eval.tui.base.look.ink import Line, Span, cut, left, line_width
from tui_eval.tui.run.rollouts.columns import HEADS, known_columns
from tui_eval.tui.run.rollouts.lines import RolloutLines

NAME = 18
BESIDE = 22
"""Cells beside the name of a metric: the sign before it, and its description."""
UNSORTABLE = ("row", "text")
Chosen: TypeAlias = tuple[tuple[str, ...] | None]
"""The chosen columns; None for the usual ones."""


class FieldLines(Picking):
    """Fields with their meanings; a metric's name has the room beside its description."""

    def __init__(self, names: Sequence[str], weighted: Collection[str]) -> None:
        super().__init__()
        self.names = list(names)
        self._weighted = weighted
        metrics = [one.removeprefix(METRIC) for one in names if one.startswith(METRIC)]
        self._longest = max((cell_len(one_line(one, 60)) for one in metrics), default=0)

    def count(self) -> int:
        return len(self.names)

    def described(self, field: str, meaning: str, is_chosen: bool) -> tuple[Span, str]:
        """A field's name in its column, its meaning, and the head of its own column."""
        name, width = field.removeprefix(METRIC), NAME
        if name != field:
            meaning = "reward function" if name in self._weighted else "metric"
            width = max(NAME, min(self._longest, self.line_width - BESIDE))
        elif field in HEADS:
            meaning += f" · headed {HEADS[field]}"
        name = one_line(name, 60) if field else "as in the run"
        return (left(name, width), "strong" if is_chosen else ""), meaning


class SortLines(FieldLines):
    """Every field that can be sorted by, under the run's own order."""

    def __init__(self, state: RunState, sorting: Sorting, weighted: Collection[str]) -> None:
        self._sorting = sorting
        metrics = [METRIC + name for name in state.details.metrics]
        fields = [name for name in FIELDS if name not in UNSORTABLE]
        super().__init__(["", *fields[:3], *metrics, *fields[3:]], weighted)
        self.cursor = self.names.index(sorting.field) if sorting.field in self.names else 0

    def line(self, index: int) -> Line:
        field = self.names[index]
        sorts = field == self._sorting.field
        arrow = ("▼" if self._sorting.descending else "▲") if sorts and field else "•" * sorts
        name, meaning = self.described(
            field, FIELDS[field].meaning if field in FIELDS else "", sorts
        )
        room = self.line_width - line_width((name,)) - 5
        return ((f" {arrow or ' '} ", "key"), name, (f"  {cut(meaning, room)}", "muted"))


class SortMenu(Dialog[SortLines, str]):
    """Returns a field; an empty one for the order of the run."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,s", "dismiss", "Close")]

    def __init__(self, state: RunState, sorting: Sorting, weighted: Collection[str]) -> None:
        lines = SortLines(state, sorting, weighted)
        super().__init__(lines, "Sort by", "enter sorts, again reverses · esc closes")

    def on_picking_done(self) -> None:
        """A field was chosen."""
        self.dismiss(self.box.names[self.box.cursor])


class ColumnLines(FieldLines):
    """Every column, with a sign where it is shown; those come first, in their order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("space", "switch", "Show or hide"),
        ("J,shift+down", "carry(1)", "Further right"),
        ("K,shift+up", "carry(-1)", "Further left"),
    ]

    def __init__(self, lines: RolloutLines, weighted: Collection[str]) -> None:
        self._known = known_columns(lines.state)
        wanted = lines.shown if lines.chosen is None else lines.chosen
        begun = [name for name in wanted if name in self._known]
        self.on = set(begun)
        super().__init__([*begun, *(name for name in self._known if name not in self.on)], weighted)

    def line(self, index: int) -> Line:
        column = self._known[self.names[index]]
        is_on = column.name in self.on
        name, meaning = self.described(column.name, column.meaning, is_on)
        sign = (" [x] ", "key") if is_on else (" [ ] ", "faint")
        return (sign, name, (f"  {meaning}", "muted"))

    def action_switch(self) -> None:
        """Shows the column under the cursor, or hides it."""
        self.on ^= {self.names[self.cursor]}
        self.update()

    def action_carry(self, by: int) -> None:
        """Moves the column under the cursor among the others."""
        to = self.cursor + by
        if 0 <= to < len(self.names):
            names = self.names
            names[self.cursor], names[to] = names[to], names[self.cursor]
            self.select(to)

    def clicked(self, index: int) -> None:
        """Shows a column, or hides it."""
        self.select(index)
        self.action_switch()


class ColumnChooser(Dialog[ColumnLines, Chosen]):
    """Returns the columns to show, in their order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss", "Close"),
        ("r", "usual", "What is usual"),
    ]

    def __init__(self, lines: RolloutLines, weighted: Collection[str]) -> None:
        keys = "space switches · J K move · r usual · enter keeps · esc closes"
        super().__init__(ColumnLines(lines, weighted), "Columns, as far as they fit", keys)

    def on_picking_done(self) -> None:
        """Returns the columns as they are."""
        box = self.box
        self.dismiss((tuple(name for name in box.names if name in box.on),))

    def action_usual(self) -> None:
        """Returns to the usual columns."""
        self.dismiss((None,))

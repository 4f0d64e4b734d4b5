"""Which column sorts the list of rollouts, and which columns it shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from textual.binding import BindingType

from tui_eval.fold.filter_fields import FIELDS, METRIC
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_list import Picking
from tui_eval.tui.base.look.ink import Line, cut, left
from tui_eval.tui.run.rollouts.columns import HEADS, known_columns
from tui_eval.tui.run.rollouts.row_order import Sorting

NAME = 18
BESIDE = 22
"""Cells beside the name of a metric: the sign before it, and what it is."""
UNSORTABLE = ("row", "text")
Chosen: TypeAlias = tuple[tuple[str, ...] | None]
"""The columns that were chosen; None for what is usual."""


class SortLines(Picking):
    """Every field that can be sorted by, under the run's own order."""

    def __init__(self, state: RunState, sorting: Sorting, weighted: Collection[str]) -> None:
        super().__init__()
        self._sorting = sorting
        self._weighted = weighted
        metrics = [METRIC + name for name in state.facts.metrics]
        fields = [name for name in FIELDS if name not in UNSORTABLE]
        self.fields = ["", *fields[:3], *metrics, *fields[3:]]
        self._longest = _longest(metrics)
        self.cursor = self.fields.index(sorting.field) if sorting.field in self.fields else 0

    def count(self) -> int:
        """Lines."""
        return len(self.fields)

    def line(self, index: int) -> Line:
        """A field and what it means."""
        field = self.fields[index]
        sorts = field == self._sorting.field
        arrow = ("▼" if self._sorting.descending else "▲") if sorts and field else "•" * sorts
        name = one_line(field.removeprefix(METRIC), 60) if field else "as in the run"
        meaning = FIELDS[field].meaning if field in FIELDS else ""
        meaning = _metric(field, self._weighted) or meaning + _headed(field)
        width = _name_width(field, self._longest, self.line_width)
        return (
            (f" {arrow or ' '} ", "key"),
            (left(name, width), "strong" if sorts else ""),
            (f"  {cut(meaning, self.line_width - width - 5)}", "muted"),
        )


def _metric(field: str, weighted: Collection[str]) -> str:
    """What a metric is, as far as that is known; empty for other fields."""
    if not field.startswith(METRIC):
        return ""
    return "reward function" if field.removeprefix(METRIC) in weighted else "metric"


def _longest(fields: Sequence[str]) -> int:
    """Cells of the longest name of a metric."""
    names = [one.removeprefix(METRIC) for one in fields if one.startswith(METRIC)]
    return max((cell_len(one_line(one, 60)) for one in names), default=0)


def _name_width(field: str, longest: int, width: int) -> int:
    """Cells for a name: metrics have what is left beside the few words on them."""
    return max(NAME, min(longest, width - BESIDE)) if field.startswith(METRIC) else NAME


def _headed(field: str) -> str:
    """What stands over the column of a field, where that is not its name."""
    return f" · headed {HEADS[field]}" if field in HEADS else ""


class SortMenu(Dialog[SortLines, str]):
    """Answers with a field, the empty one for the order of the run."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,s", "dismiss", "Close")]

    def __init__(self, state: RunState, sorting: Sorting, weighted: Collection[str]) -> None:
        lines = SortLines(state, sorting, weighted)
        super().__init__(lines, "Sort by", "enter sorts, again reverses · esc closes")

    def on_picking_done(self) -> None:
        """A field was chosen."""
        self.dismiss(self.box.fields[self.box.cursor])


class ColumnLines(Picking):
    """Every column with whether it is shown; those that are come first, in their order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("space", "switch", "Show or hide"),
        ("J,shift+down", "carry(1)", "Further right"),
        ("K,shift+up", "carry(-1)", "Further left"),
    ]

    def __init__(
        self,
        state: RunState,
        chosen: tuple[str, ...] | None,
        shown: tuple[str, ...],
        weighted: Collection[str],
    ) -> None:
        super().__init__()
        self._weighted = weighted
        self._known = known_columns(state)
        begun = [name for name in (shown if chosen is None else chosen) if name in self._known]
        self.on = set(begun)
        self.names = [*begun, *(name for name in self._known if name not in self.on)]
        self._longest = _longest(self.names)

    def count(self) -> int:
        """Lines."""
        return len(self.names)

    def line(self, index: int) -> Line:
        """A column and whether it is shown."""
        column = self._known[self.names[index]]
        is_on = column.name in self.on
        name = one_line(column.name.removeprefix(METRIC), 60)
        width = _name_width(column.name, self._longest, self.line_width)
        meaning = _metric(column.name, self._weighted) or column.meaning
        return (
            (" [x] " if is_on else " [ ] ", "key" if is_on else "faint"),
            (left(name, width), "strong" if is_on else ""),
            (f"  {meaning}{_headed(column.name)}", "muted"),
        )

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
    """Answers with the columns to show, in their order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss", "Close"),
        ("r", "usual", "What is usual"),
    ]

    def __init__(self, lines: ColumnLines) -> None:
        keys = "space switches · J K move · r usual · enter keeps · esc closes"
        super().__init__(lines, "Columns, as far as they fit", keys)

    def on_picking_done(self) -> None:
        """They are as they are wanted."""
        box = self.box
        self.dismiss((tuple(name for name in box.names if name in box.on),))

    def action_usual(self) -> None:
        """What fits, most important first."""
        self.dismiss((None,))

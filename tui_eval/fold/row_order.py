"""Listed rollouts and their order: a line is a place in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from tui_eval.fold.columns import Notes
    from tui_eval.fold.query.filtering import RowFilter
    from tui_eval.fold.run_state import RunState


LEAST_FIRST = ("example", "number", "row", "stage", "error", "stop", "tool", "question", "answer")
"""Fields that are sorted upwards at first; the others from the greatest down."""


class Sorting(NamedTuple):
    """Requested order of the rows.

    Args:
        field: A field of filters; empty for the order of the run.
        grouped: Whether the rollouts of an example stay together, at the first of them.
    """

    field: str = ""
    descending: bool = False
    grouped: bool = True

    def by(self, field: str) -> Sorting:
        """Sorted by a field, reversed where it sorts already; empty for the run's order."""
        if field and field == self.field:
            return self.turned()
        return self._replace(field=field, descending=bool(field) and field not in LEAST_FIRST)

    def turned(self) -> Sorting:
        """The reversed order."""
        return self._replace(field=self.field or "row", descending=not self.descending)


class RowOrder(NamedTuple):
    """The rows by line, and the line of every row, -1 for one that is not listed."""

    rows: np.ndarray
    lines: np.ndarray


def make_order(
    state: RunState, wanted: RowFilter | None, sorting: Sorting, notes: Notes
) -> RowOrder:
    """Result of `listed_rows`, with the line of every row."""
    import numpy as np

    total = state.total
    rows = listed_rows(state, wanted, sorting, notes)
    lines = np.full(total, -1, np.int64)
    lines[rows] = np.arange(len(rows))
    return RowOrder(rows, lines)


def listed_rows(
    state: RunState, wanted: RowFilter | None, sorting: Sorting, notes: Notes | None
) -> np.ndarray:
    """The rows that match, in their order; can be made by a thread while the run grows.

    Raises:
        PatternTooSlowError: A regular expression took too long.
        OSError: One needs a process that could not be started.
    """
    import numpy as np

    from tui_eval.fold.columns import ordered

    total = state.total
    rows = np.arange(total) if wanted is None else wanted.rows(state, notes)
    if state.has_gaps:
        stages = np.frombuffer(bytes(state.stage), np.uint8)[:total]
        rows = rows[stages[rows] > 0]
    if sorting.field:
        rows = ordered(state, rows, sorting.field, descending=sorting.descending, notes=notes)
        if sorting.grouped and state.per_example > 1:
            rows = _together(rows, state.per_example)
    return rows


def _together(rows: np.ndarray, each: int) -> np.ndarray:
    """Rows with those of each example moved up to its first one."""
    import numpy as np

    _, first, group = np.unique(rows // each, return_index=True, return_inverse=True)
    together: np.ndarray = rows[np.argsort(first[group], kind="stable")]
    return together

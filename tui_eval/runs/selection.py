"""The rows of a run that a filter asks for, in the order that a column asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.fold.columns import Notes
from tui_eval.fold.filter_fields import FIELDS, METRIC, OTHER_NAMES
from tui_eval.fold.filtering import RowFilter
from tui_eval.fold.patterns import PatternTooSlowError
from tui_eval.fold.row_order import Sorting, listed_rows
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.text_search import SearchProgress, search_trajectories


def select_rows(
    run: RunDir,
    state: RunState,
    where: str = "",
    sort: str = "",
    *,
    notes: Notes | None = None,
    progressed: Callable[[SearchProgress], None] = lambda _: None,
) -> list[int]:
    """The rows that match a filter; blocks while trajectories are searched, if it asks for that.

    Args:
        where: See `fold.filter_parser`; empty for all rows.
        sort: A column, with `-` before it from the greatest down; empty for the run's order.
        say: Receives how far the search of trajectories is.

    Raises:
        RefusedError: The filter or the column makes no sense, an expression takes too long, or
            trajectories cannot be read.
    """
    metrics = state.facts.metrics
    faults: list[Fault] = []
    column = sort_column(sort.removeprefix("-"), metrics, faults) if sort else ""
    try:
        wanted = RowFilter(where, metrics)
    except RefusedError as error:
        raise RefusedError([*error.faults, *faults]) from None
    if faults:
        raise RefusedError(faults)
    try:
        if wanted.text_conditions:
            for progress in search_trajectories(run, state, wanted, notes):
                progressed(progress)
        sorting = Sorting(column, sort.startswith("-"), grouped=False)
        rows = listed_rows(state, wanted, sorting, notes)
    except PatternTooSlowError as error:
        raise RefusedError([Fault("filter", str(error))]) from None
    except OSError as error:
        what = f"it cannot be searched any more: {error.strerror or error}"
        raise RefusedError([Fault(str(run.results), what)]) from error
    found: list[int] = rows.tolist()
    return found


def sort_column(name: str, metrics: Collection[str], faults: list[Fault]) -> str:
    """The field that the name of a column means; adds a fault where there is none."""
    is_metric = name in metrics or (name.startswith(METRIC) and name[len(METRIC) :] in metrics)
    if is_metric and name not in FIELDS:
        return name
    field = OTHER_NAMES.get(name, name)
    if field in FIELDS and field != "text":
        return field
    hint = nearest(name, [*FIELDS, *OTHER_NAMES, *metrics]) or "Name a column or a metric"
    faults.append(Fault("--sort", f"there is no column {name}", hint))
    return ""

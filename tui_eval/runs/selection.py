"""The rows of a run that a filter asks for; trajectories are read from the files of the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import msgspec

from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.fold.columns import Columns, Notes, Version, ordered
from tui_eval.fold.filter_fields import FIELDS, METRIC, OTHER_NAMES
from tui_eval.fold.filter_nodes import Compare, Pattern
from tui_eval.fold.filtering import RowFilter
from tui_eval.fold.patterns import PATIENCE_S, Matcher, PatternTooSlowError
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout, from_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import SavedRows, values_of


class SearchProgress(msgspec.Struct, frozen=True):
    """How far a search is; `unread` counts rollouts that could not be read or took too long."""

    searched: int
    total: int
    found: int
    unread: int


def search_trajectories(
    run: RunDir, state: RunState, wanted: RowFilter, notes: Notes | None = None
) -> Iterator[SearchProgress]:
    """Reads the rollouts of which only the trajectory can say whether they match.

    Reports the filter of each, so that `wanted.rows` has it from then on, and yields after each:
    who does not ask for the next one has cancelled the search. To be run off the screen's loop. A
    rollout that finishes meanwhile is left for the next search, and so are all that are left where
    the file is read from its beginning again.

    Raises:
        OSError: The file is gone or cannot be read, or no process could be started.
    """
    reading = Columns(state).reading
    rows = sorted(
        (int(row) for row in wanted.undecided(state, notes)), key=lambda row: state.offset[row]
    )
    found = unread = 0
    matchers = {
        condition: Matcher(condition.value.source, short=False, patience_s=PATIENCE_S)
        for condition in wanted.text_conditions
        if isinstance(condition.value, Pattern)
    }
    try:
        with SavedRows(run, state) as saved:
            for searched, row in enumerate(rows, 1):
                try:
                    version, line = Version(reading, state.since[row]), saved.line(row)
                except IndexError:  # the file has fewer rollouts now
                    return
                known = _answers(line, wanted.text_conditions, matchers)
                for condition, holds in known.items():
                    wanted.received(condition, row, holds, version)
                unread += len(known) < len(wanted.text_conditions)
                found += any(known.values())
                yield SearchProgress(searched, len(rows), found, unread)
    finally:
        for matcher in matchers.values():
            matcher.close()


def _answers(
    line: bytes, conditions: list[Compare], matchers: dict[Compare, Matcher]
) -> dict[Compare, bool]:
    """What holds of a saved rollout; without the conditions that cannot be decided."""
    known = {one: _holds(one, False) for one in conditions if _cannot_hold(line, one.value)}
    left = [one for one in conditions if one not in known]
    if not left:
        return known
    values = values_of(line)
    if values is None:
        return known
    text = trajectory_text(from_row(0, values)).lower()
    for condition in left:
        value = condition.value
        if value is None:
            known[condition] = _holds(condition, not text)
        elif condition in matchers:
            try:
                known[condition] = _holds(condition, matchers[condition].found_in([text])[0])
            except PatternTooSlowError:
                continue
        else:
            known[condition] = _holds(condition, str(value).lower() in text)
    return known


def _holds(condition: Compare, found: bool) -> bool:
    return found != (condition.operator == "!=")


def _cannot_hold(line: bytes, value: object) -> bool:
    """Whether plain letters are not in the line at all, so that it need not be decoded."""
    if not isinstance(value, str) or not (value.isascii() and value.isalnum()):
        return False
    plain = line.isascii() and b"\\u" not in line  # else letters may be written in other ways
    return plain and value.lower().encode() not in line.lower()


def trajectory_text(rollout: Rollout) -> str:
    """Everything that is said in a rollout, tool calls and errors included."""
    parts = []
    for entry in rollout.entries():
        parts += [entry.reasoning, entry.text]
        if entry.tool is not None:
            parts += [entry.tool.name, entry.tool.arguments, entry.tool.result or ""]
    parts += [rollout.answer, rollout.error or "", rollout.traceback or ""]
    return "\n".join(part for part in parts if part)


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
        sort: A column, with `-` before it from the greatest down; empty for the run's order.
        progressed: Receives how far the search of trajectories is.

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
        rows = wanted.rows(state, notes)
    except PatternTooSlowError as error:
        raise RefusedError([Fault("filter", str(error))]) from None
    except OSError as error:
        what = f"it cannot be searched any more: {error.strerror or error}"
        raise RefusedError([Fault(str(run.results), what)]) from error
    if column:
        rows = ordered(state, rows, column, descending=sort.startswith("-"), notes=notes)
    return [int(row) for row in rows if state.stage[row] or not state.has_gaps]


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

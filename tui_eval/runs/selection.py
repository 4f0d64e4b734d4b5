"""The rows of a run that match a filter; trajectories are read from the files of the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec

from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.fold.columns import Columns, Notes, Version
from tui_eval.fold.query.fields import FIELDS, METRIC, OTHER_NAMES
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.query.nodes import Compare, Pattern
from tui_eval.fold.query.patterns import PATIENCE_S, Matcher, PatternTooSlowError
from tui_eval.fold.row_order import Sorting, listed_rows
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout, from_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import SavedRows, find_run, values_of


class SearchProgress(msgspec.Struct, frozen=True):
    """Progress of a search; `unread` counts rollouts that could not be read or took too long."""

    searched: int
    total: int
    found: int
    unread: int


def search_trajectories(
    run: RunDir, state: RunState, wanted: RowFilter, notes: Notes | None = None
) -> Iterator[SearchProgress]:
    """Reads the rollouts of which only the trajectory can say whether they match.

    Reports the filter of each, so that `wanted.rows` has it from then on, and yields after each:
    a caller that takes no next one has cancelled the search. To be run off the screen's loop. A
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


class TrajectorySearch:
    """Finds for a filter which trajectories match, of those that were there when it began."""

    def __init__(self, state: RunState, wanted: RowFilter, notes: Notes) -> None:
        self.wanted = wanted
        self._there = _trajectories(state)
        self.progress: SearchProgress | None = None
        self.fault = ""
        """Reason why it ended early."""
        self.is_over = False
        self._state = state
        self._notes = notes
        self.is_given_up = False
        """Whether somebody did not want to wait for the rest: the thread ends after the rollout
        that it is reading."""

    @property
    def is_up_to_date(self) -> bool:
        """Whether there are no other trajectories by now."""
        return self._there == _trajectories(self._state)

    def work(self) -> None:
        """Searches; for a thread."""
        run = self._state.run
        try:
            if run is None:
                return
            files = find_run(Path(run.path))
            steps = search_trajectories(files, self._state, self.wanted, self._notes)
            for self.progress in steps:
                if self.is_given_up:
                    break
        except RefusedError as error:
            self.fault = error.faults[0].what
        except (OSError, ValueError) as error:  # no path has a NUL in it
            self.fault = getattr(error, "strerror", None) or str(error)
        finally:
            self.is_over = True


def _trajectories(state: RunState) -> tuple[int, int, int]:
    """Another value wherever there may be other trajectories."""
    reading = state.run.reading if state.run is not None else 0
    return reading, state.finished, state.taken_back


def _answers(
    line: bytes, conditions: list[Compare], matchers: dict[Compare, Matcher]
) -> dict[Compare, bool]:
    """Truth of the conditions for a saved rollout; without those that cannot be decided."""
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
    """All text of a rollout, tool calls and errors included."""
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
    """The rows that match a filter; blocks while trajectories are searched, if it needs that.

    Args:
        sort: A column, with `-` before it from the greatest down; empty for the run's order.
        progressed: Receives how far the search of trajectories is.

    Raises:
        RefusedError: The filter or the column makes no sense, an expression takes too long, or
            trajectories cannot be read.
    """
    metrics = state.details.metrics
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

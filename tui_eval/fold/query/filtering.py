"""Filters over the columns of a run: the rows that match, all of them at once.

A filter is evaluated over whole columns with numpy, since it is applied again whenever the run has
changed. Only a trajectory on disk can decide a `text:` condition. Each node therefore has two
masks, the rows that are sure to match and those that may; who needs the rest reads the rows between
them in the background.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tui_eval.fold.columns import Columns, Notes, TextColumn, Version
from tui_eval.fold.query.fields import FIELDS, NUMBERS, STAGES, kind_of, number_from
from tui_eval.fold.query.filter_parser import parse_filter
from tui_eval.fold.query.nodes import All, Compare, Either, Node, Not, Pattern, Word
from tui_eval.fold.query.patterns import SHORT, Matcher
from tui_eval.fold.rollout_columns import DONE, WAITING
from tui_eval.fold.row_details import TOOLS_APART
from tui_eval.stats.arrays import np
from tui_eval.stats.rewards import are_equal

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState

INDEXED = ("example", "stage", "error", "stop", "tool", "question", "answer")
"""Fields that are searched for a word or a regular expression by itself."""
LOWERED = ("question", "answer")
"""Columns of which the index has no more than a beginning, in lower case."""

Find = Callable[[Sequence[str]], list[bool]]
"""Finds the texts, beginnings in lower case, that hold something."""

_NUMBER_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    ":": operator.eq,
    "!=": operator.ne,
}


class RowFilter:
    """A filter as people wrote it, applied again whenever the run has changed.

    Conditions on whole trajectories (`text:`) hold for no row until `received` reports it, see
    `runs.selection`, and never for a rollout that is not finished. A filter that holds regular
    expressions can take up to two seconds for each of them; one without takes milliseconds. For a
    run that is read again a new filter is made. A `FilterError` has every fault.
    """

    def __init__(self, text: str, metrics: Iterable[str] = ()) -> None:
        self.text = text
        self.node: Node | None = parse_filter(text, metrics)
        parts = list(_parts(self.node))
        self.text_conditions: list[Compare] = list(
            dict.fromkeys(p for p in parts if isinstance(p, Compare) and p.field == "text")
        )
        self.has_pattern = any(
            isinstance(part, Pattern)
            or (isinstance(part, Compare) and isinstance(part.value, Pattern))
            for part in parts
        )
        self._received: dict[Compare, dict[int, tuple[Version, bool]]] = {
            one: {} for one in self.text_conditions
        }
        self._searched = _Searched()

    def received(self, condition: Compare, row: int, holds: bool, version: Version) -> None:
        """Takes in whether a condition holds for a row's trajectory of this version."""
        self._received[condition][row] = (version, holds)

    def rows(self, state: RunState, notes: Notes | None = None) -> np.ndarray:
        """The rows that are sure to match, in their order; raises as `Matcher.found_in` does."""
        return np.flatnonzero(self.bounds(state, notes)[0])

    def undecided(self, state: RunState, notes: Notes | None = None) -> np.ndarray:
        """The rows of which only the trajectory can say whether they match, in their order."""
        sure, possible = self.bounds(state, notes)
        return np.flatnonzero(possible & ~sure)

    def bounds(self, state: RunState, notes: Notes | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Whether each row is sure to match, and whether it may match."""
        columns = Columns(state, notes)
        if self.node is None:
            everything = np.ones(columns.total, bool)
            return everything, everything
        return self._bounds(self.node, columns)

    def _bounds(self, node: Node, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(node, Not):
            sure, possible = self._bounds(node.part, columns)
            return ~possible, ~sure
        if isinstance(node, (All, Either)):
            join = np.logical_and if isinstance(node, All) else np.logical_or
            bounds = [self._bounds(part, columns) for part in node.parts]
            sures, possibles = zip(*bounds, strict=True)
            return join.reduce(sures), join.reduce(possibles)
        if isinstance(node, Compare) and node.field == "text":
            return self._text_bounds(node, columns)
        mask = _mask(node, columns, self._searched)
        return mask, mask

    def _text_bounds(self, node: Compare, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        sure = np.zeros(columns.total, bool)
        possible = columns.stages() >= DONE  # only these have a trajectory on disk
        started = columns.started()
        reported = self._received[node].copy()  # one call: a search in a thread reports more
        for row, (version, holds) in reported.items():
            if row < columns.total and version == (columns.reading, started[row]):
                sure[row] = possible[row] = holds
        return sure, possible


class _Searched:
    """Matches in the texts of questions and answers, which only grow in number.

    Each is searched once, however often a resumed run is filtered.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[Node, str], tuple[Sequence[str], list[bool]]] = {}

    def found(self, node: Node, field: str, texts: Sequence[str], find: Find) -> list[bool]:
        """Whether each text of a column holds something."""
        if field not in LOWERED:
            return find([text[:SHORT].lower() for text in texts])
        of, found = self._found.get((node, field), (texts, []))
        if of is not texts:  # those of another run
            found = []
        found = found + find(texts[len(found) :]) if found else find(texts)
        self._found[node, field] = texts, found
        return found


def _parts(node: Node | None) -> Iterable[Node]:
    if node is None:
        return
    yield node
    inner = (node.part,) if isinstance(node, Not) else getattr(node, "parts", ())
    for part in inner:
        yield from _parts(part)


def _mask(node: Word | Pattern | Compare, columns: Columns, searched: _Searched) -> np.ndarray:
    if isinstance(node, (Word, Pattern)):
        return _indexed(node, columns, searched)
    if kind_of(node.field) == NUMBERS:
        return _number_mask(columns.numbers(node.field), node)
    if node.field in ("stage", "truncated"):
        return _choice_mask(node, columns)
    column = columns.text(node.field)
    if node.field == "class":
        wanted = str(node.value or "")
        return _turned(_chosen(column, [text == wanted for text in column.texts]), node)
    if node.value is None:
        return _turned(_chosen(column, [not text for text in column.texts]), node)
    if node.field == "example" and node.operator in ("<", "<=", ">", ">="):
        return _number_mask(_as_numbers(column), node)
    return _text_mask(column, node, searched)


def _indexed(node: Word | Pattern, columns: Columns, searched: _Searched) -> np.ndarray:
    mask = np.zeros(columns.total, bool)
    with _finder(node if isinstance(node, Pattern) else node.text) as find:
        for field in INDEXED:
            column = columns.text(field)
            mask |= _chosen(column, searched.found(node, field, column.texts, find))
    return mask


@contextmanager
def _finder(value: str | Pattern) -> Iterator[Find]:
    """Gives a `Find` for words or a regular expression."""
    if isinstance(value, Pattern):
        with Matcher(value.source, short=True) as matcher:
            yield matcher.found_in
    else:
        wanted = value.lower()
        yield lambda texts: [wanted in text for text in texts]


def _number_mask(numbers: np.ndarray, node: Compare) -> np.ndarray:
    """A missing value is less than nothing, greater than nothing and equal to nothing."""
    missing = np.isnan(numbers)
    if node.value is None:
        return _turned(missing, node)
    value = node.value if isinstance(node.value, float) else number_from("", str(node.value))
    compare = _NUMBER_OPERATORS[node.operator]
    mask: np.ndarray = compare(numbers, value) & ~missing
    if value is not None and (node.field == "reward" or node.field not in FIELDS):  # sums
        mask[are_equal(numbers, value)] = compare(value, value)
    return mask


def _choice_mask(node: Compare, columns: Columns) -> np.ndarray:
    stages = columns.stages()
    mask: np.ndarray
    if node.value is None:
        mask = stages != stages
    elif node.field == "truncated":
        mask = columns.truncated() == (node.value == "yes")
    elif node.value == "running":
        mask = (stages > WAITING) & (stages < DONE)
    elif node.value == "finished":
        mask = stages >= DONE
    else:
        mask = stages == STAGES.index(str(node.value))
    return _turned(mask, node)


def _turned(mask: np.ndarray, node: Compare) -> np.ndarray:
    """The mask, or its opposite where the operator says so."""
    turned: np.ndarray = np.logical_not(mask) if node.operator == "!=" else mask
    return turned


def _text_mask(column: TextColumn, node: Compare, searched: _Searched) -> np.ndarray:
    value = node.value
    is_text = isinstance(value, str)
    is_id = node.field == "example" and is_text and number_from("", str(value)) is not None
    if is_id or (is_text and node.operator in ("=", "!=")):
        wanted = str(value).lower()
        found = [
            wanted in text.lower().split(TOOLS_APART) or wanted == text.lower()
            for text in column.texts
        ]
    else:
        with _finder(value if isinstance(value, Pattern) else str(value)) as find:
            found = searched.found(node, node.field, column.texts, find)
    mask = _chosen(column, found)
    return _turned(mask, node)


def _as_numbers(column: TextColumn) -> np.ndarray:
    found = (number_from("", text) for text in column.texts)
    numbers: np.ndarray = np.array([np.nan if one is None else one for one in found])[column.codes]
    return numbers


def _chosen(column: TextColumn, found: Sequence[bool]) -> np.ndarray:
    """Whether the text of each row is one of the found ones."""
    mask: np.ndarray = np.frombuffer(bytes(found), bool)[column.codes]
    return mask

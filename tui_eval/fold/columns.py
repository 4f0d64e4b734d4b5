"""Columns of a run as arrays, to filter and to sort by."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tui_eval.fold.query.fields import METRIC, STAGES, kind_of
from tui_eval.fold.query.patterns import SHORT
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.row_details import TOOLS_APART
from tui_eval.fold.run_state import RunState
from tui_eval.stats.arrays import np

SPENT = ("input", "output", "tokens", "time")


class Note(NamedTuple):
    """Somebody's note on a rollout."""

    text: str = ""
    tags: tuple[str, ...] = ()


Notes = Mapping[tuple[str, int], Note]
"""Notes by (example id as text, number of the rollout)."""


class Version(NamedTuple):
    """Version of a row's trajectory: another one once the file is read again, or it ran again."""

    reading: int
    """See `RunStarted.reading`."""
    started_at: float
    """Unix seconds."""


class TextColumn(NamedTuple):
    """Texts that rows share: a place in `texts` for every row; an empty text is a missing one.

    Those of questions and answers are in lower case. A text that is a list of names has
    `TOOLS_APART` between them.
    """

    codes: np.ndarray
    texts: Sequence[str]


class Columns:
    """One run's columns by the name of a field; made again for every filter, which is cheap.

    Every column is a copy, as long as the run was when this was made: a run may grow while a
    thread filters it.
    """

    def __init__(self, state: RunState, notes: Notes | None = None) -> None:
        self.state = state
        self.notes = notes or {}
        self.reading = state.run.reading if state.run is not None else 0
        self.total = min(len(state.offset), state.total)

    def _array(self, column: array[Any] | bytearray, missing: float = 0) -> np.ndarray:
        """A copy of a column, which may be longer or shorter than the run was."""
        kind = column.typecode if isinstance(column, array) else "B"
        found = np.frombuffer(bytes(column), kind)[: self.total]  # one call copies it whole
        if len(found) == self.total:
            return found
        return np.append(found, np.full(self.total - len(found), missing, kind))

    def numbers(self, field: str) -> np.ndarray:
        """A field of numbers as floats, NaN where a rollout has none."""
        state = self.state
        columns: dict[str, Callable[[], np.ndarray]] = {
            "reward": lambda: self._array(state.reward),
            "turns": lambda: self._array(state.turns),
            "calls": lambda: self._array(state.tool_calls),
            "input": lambda: self._array(state.input_tokens),
            "output": lambda: self._array(state.output_tokens),
            "tokens": lambda: self._array(state.input_tokens) + self._array(state.output_tokens),
            "attempt": lambda: self._array(state.attempt),
            "time": lambda: self._array(state.total_ms) / 1000,
            "row": lambda: np.arange(self.total),
            "number": self._numbers,
            "code": self._code,
        }
        if field in columns:
            found = columns[field]().astype(float)
        else:
            metric = state.details.metrics.get(field.removeprefix(METRIC), array("d"))
            found = self._array(metric, math.nan).copy()
        if field == "code":
            found[self.stages() < DONE] = np.nan
        if field in ("turns", "calls", "input", "output", "tokens", "attempt"):
            found[self.stages() == 0] = np.nan  # what has not begun has none
        if field in SPENT:  # 0 once it is finished: that is not known
            reported = self.numbers("input") if field == "output" else found
            found[(self.stages() >= DONE) & ~(reported > 0)] = np.nan
        if field in ("turns", "calls") and state.is_foreign:
            found[(self.stages() >= DONE) & (self._array(state.turns) == 0)] = np.nan
        return found

    def _numbers(self) -> np.ndarray:
        found = np.arange(self.total) % self.state.per_example
        for row, number in self.state.details.numbers.copy().items():
            if row < self.total:
                found[row] = number
        return found

    def _code(self) -> np.ndarray:
        found = np.ones(self.total)
        for row, code in self.state.details.code.copy().items():
            if row < self.total:
                found[row] = code
        return found

    def stages(self) -> np.ndarray:
        """The stage of every row, as a number."""
        return self._array(self.state.stage)

    def started(self) -> np.ndarray:
        """When every row began, in unix seconds; NaN where it has not."""
        return self._array(self.state.since, math.nan)

    def truncated(self) -> np.ndarray:
        """Whether an answer of it was cut off."""
        found = np.zeros(self.total, bool)
        found[[row for row in list(self.state.details.truncated) if row < self.total]] = True
        return found

    def text(self, field: str) -> TextColumn:
        """A field of texts; a KeyError where the index has no such field."""
        details = self.state.details
        reported = {
            "stop": details.stop,
            "error": details.error,
            "class": details.error_class,
            "finish": details.finish,
            "model": details.models,
            "tool": details.tools,
            "failed_tool": details.failed_tools,
        }
        if field in reported:
            return TextColumn(self._array(reported[field].codes), reported[field].texts)
        if field == "example":
            return self._examples()
        if field == "question":
            codes = self._array(details.questions.codes)[self._position_of_rows()]
            return TextColumn(codes, details.questions.lower())
        if field == "answer":
            return TextColumn(self._array(details.answers.codes), details.answers.lower())
        if field == "note":
            return self._by_row({row: note.text for row, note in self._noted()})
        if field == "tag":
            return self._by_row({row: TOOLS_APART.join(note.tags) for row, note in self._noted()})
        if field == "stage":
            return TextColumn(self.stages(), STAGES)
        raise KeyError(field)

    def _positions(self) -> int:
        return -(-self.total // self.state.per_example)

    def _position_of_rows(self) -> np.ndarray:
        return np.arange(self.total) // self.state.per_example

    def _examples(self) -> TextColumn:
        ids = self.state.example_ids
        texts = [*map(str, range(self._positions()))]
        for place, known in ids.copy().items():
            if place < len(texts):
                texts[place] = str(known)
        return TextColumn(self._position_of_rows(), texts or [""])

    def _by_row(self, texts: Mapping[int, str]) -> TextColumn:
        codes = np.zeros(self.total, np.int64)
        codes[list(texts)] = np.arange(1, len(texts) + 1)
        return TextColumn(codes, ["", *texts.values()])

    def _noted(self) -> list[tuple[int, Note]]:
        examples = {example for example, _ in self.notes}
        if not examples:
            return []
        each, ids = self.state.per_example, self.state.example_ids
        return [
            (row, note)
            for place in range(self._positions())
            if str(ids.get(place, place)) in examples
            for row in range(place * each, min((place + 1) * each, self.total))
            if (note := self.notes.get(note_key(self.state, row))) is not None
        ]


def tokens_of(state: RunState, row: int) -> tuple[int | None, int | None]:
    """Input and output tokens of a rollout; None for what a finished one does not say.

    No answer is made of no tokens: without any of the input those of the output are all there were.
    """
    read, written = state.input_tokens[row], state.output_tokens[row]
    return (read, written) if read or state.stage[row] < DONE else (None, None)


def all_tokens_of(state: RunState, row: int) -> int | None:
    """Both together; None where a finished rollout reports none."""
    both = state.input_tokens[row] + state.output_tokens[row]
    return both if both or state.stage[row] < DONE else None


def counts_of(state: RunState, row: int) -> tuple[int | None, int | None]:
    """Turns and tool calls of a rollout; None where another program did not save them."""
    turns, calls = state.turns[row], state.tool_calls[row]
    is_known = turns or not state.is_foreign or state.stage[row] < DONE
    return (turns, calls) if is_known else (None, None)


def seconds_of(state: RunState, row: int) -> float | None:
    """Duration of a finished rollout; None where it is not known."""
    ms = state.total_ms[row]
    return ms / 1000 if state.stage[row] >= DONE and ms > 0 else None


def number_of_row(state: RunState, row: int) -> int:
    """The number of a rollout among those of its example."""
    return state.details.numbers.get(row, row % state.per_example)


def note_key(state: RunState, row: int) -> tuple[str, int]:
    """The key of a rollout's note."""
    return str(state.example_id(row)), number_of_row(state, row)


def ordered(
    state: RunState,
    rows: Sequence[int] | np.ndarray,
    field: str,
    *,
    descending: bool = False,
    notes: Notes | None = None,
) -> np.ndarray:
    """Rows sorted by a field, those without a value last; equal ones keep their order.

    Args:
        field: A field of filters, but `text`; an unknown metric leaves the order as it is.
    """
    columns = Columns(state, notes)
    rows = np.asarray(rows, np.int64)
    if kind_of(field) != "text" and field not in ("stage", "truncated"):
        keys = columns.numbers(field)[rows]
    elif field == "stage":
        keys = columns.stages()[rows].astype(float)
    elif field == "truncated":
        keys = columns.truncated()[rows].astype(float)
    else:
        codes, texts = columns.text(field)
        keys = _ranks(texts)[codes[rows]]
    missing = np.isnan(keys)
    keys = np.where(missing, 0.0, -keys if descending else keys)
    return rows[np.lexsort((keys, missing))]


EXACT_DIGITS = 15
"""A whole number of so many digits is exact as a float."""
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,300}")


def _ranks(texts: Sequence[str]) -> np.ndarray:
    """The place of each text in their order, equal for equal ones; NaN for a missing one."""
    every = "".join(texts)
    if every.isascii() and every.isdecimal() and max(map(len, texts)) <= EXACT_DIGITS:
        numbers = np.array([float(text or "nan") for text in texts])
        if len(set(texts)) == len(np.unique(numbers)):  # 7 and 007 are two texts
            return numbers
    places = {text: place for place, text in enumerate(sorted(set(texts), key=_natural))}
    return np.array([places[text] if text else np.nan for text in texts], float)


def _natural(text: str) -> tuple[Any, ...]:
    """Numbers by their value and before words."""
    if _WHOLE_NUMBER.fullmatch(text):
        return (0, int(text), text)
    return (1, text[:SHORT].casefold(), text)

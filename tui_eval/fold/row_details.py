"""Details of finished rollouts: texts and metrics of each, and counts over all."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, Any

from tui_eval.error_classes import class_of_names
from tui_eval.fold.lower_texts import LowerTexts
from tui_eval.stats.rewards import is_number

if TYPE_CHECKING:
    from tui_eval.events import RolloutFinished


class Outcomes:
    """Counts over finished rollouts; a rollout that is taken back to run again is taken out.

    `errors` are rollouts by the names of their exceptions, `classes` the same by error class,
    `stops` by the condition that ended them, `finishes` by why their last answer ended, where that
    was reported. `truncated` have an answer that was cut off. `tools` has the calls and errors of
    each tool, `failed_tools` counts the rollouts with a call that went wrong. `models` are calls by
    the name of the model that answered, where it was another than was requested. `later_code` has
    the rollouts of every version of the code but the first: those that finished, those with a
    reward, and the sum of the rewards.
    """

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.stops: Counter[str] = Counter()
        self.finishes: Counter[str] = Counter()
        self.truncated = 0
        self.failed_tools = 0
        self.tools: dict[str, tuple[int, int]] = {}
        self.models: Counter[str] = Counter()
        self.later_code: dict[int, tuple[int, int, float]] = {}

    def add(self, event: RolloutFinished) -> None:
        """Takes in a finished rollout."""
        self.truncated += event.truncated
        if event.stop_condition:
            self.stops[event.stop_condition] += 1
        if event.finish_reason:
            self.finishes[event.finish_reason] += 1
        if event.tools:
            self._add_tools(event.tools)
        if event.models:
            self.models.update(event.models)
        if event.code != 1:
            self._count_code(event, 1)
        if event.error is not None:
            self.errors[event.error] += 1
            self.classes[class_of_event(event)] += 1

    def _add_tools(self, tools: dict[str, tuple[int, int]]) -> None:
        failed = False
        for name, (calls, errors) in tools.items():
            before = self.tools.get(name, (0, 0))
            self.tools[name] = (before[0] + calls, before[1] + errors)
            failed = failed or errors > 0
        self.failed_tools += failed

    def _count_code(self, event: RolloutFinished, by: int) -> None:
        finished, used, total = self.later_code.get(event.code, (0, 0, 0.0))
        if event.error is None and event.reward is not None and is_number(event.reward):
            used, total = used + by, total + by * event.reward
        self.later_code[event.code] = (finished + by, used, total)
        if not finished + by:
            del self.later_code[event.code]

    def remove(self, was: RolloutFinished) -> None:
        """Takes out an errored rollout that was added."""
        self.truncated -= was.truncated
        if was.stop_condition:
            _count_less(self.stops, was.stop_condition)
        if was.finish_reason:
            _count_less(self.finishes, was.finish_reason)
        for name, (calls, errors) in was.tools.items():
            before = self.tools[name]
            self.tools[name] = (before[0] - calls, before[1] - errors)
            if not self.tools[name][0]:
                del self.tools[name]
        self.failed_tools -= any(errors for _, errors in was.tools.values())
        for name, calls in was.models.items():
            _count_less(self.models, name, calls)
        if was.code != 1:
            self._count_code(was, -1)
        if was.error is not None:
            _count_less(self.errors, was.error)
            _count_less(self.classes, class_of_event(was))


def class_of_event(event: RolloutFinished) -> str:
    """Error class of a rollout, by the names of its exceptions where the row has none."""
    return event.error_class or class_of_names(event.error or "")


def _count_less(counts: Counter[str], name: str, n: int = 1) -> None:
    counts[name] -= n
    if not counts[name]:
        del counts[name]


class _Texts:
    """A column of texts: a small number a row, and the texts; 0 is no text.

    Rows behind the end of `codes` have no text.
    """

    def __init__(self) -> None:
        self.codes = array("I")
        self.texts: list[str] = [""]

    @property
    def has_any(self) -> bool:
        """Whether a row has a text, or had one."""
        return len(self.texts) > 1

    def remove(self, row: int) -> None:
        """Takes a row's text away."""
        if row < len(self.codes):
            self.codes[row] = 0

    def get(self, row: int) -> str:
        """A row's text; empty where there is none."""
        return self.texts[self.codes[row]] if row < len(self.codes) else ""

    def _set(self, row: int, code: int) -> None:
        if row >= len(self.codes):
            _reach(self.codes, row, 0)
        self.codes[row] = code


class Codes(_Texts):
    """A column of texts that often repeat, each kept once."""

    def __init__(self) -> None:
        super().__init__()
        self._code_of = {"": 0}

    def put(self, row: int, text: str) -> None:
        """Sets a row's text."""
        code = self._code_of.get(text)
        if code is None:
            code = self._code_of[text] = len(self.texts)
            self.texts.append(text)
        if code:
            self._set(row, code)


class Heads(_Texts):
    """A column of beginnings of texts, in lower case too from the first search on."""

    def __init__(self) -> None:
        super().__init__()
        self._lower = LowerTexts()
        self._lock = Lock()

    def put(self, row: int, text: str) -> None:
        """Sets the text of a row that has none yet."""
        if text and not self.get(row):
            self.texts.append(text)
            self._set(row, len(self.texts) - 1)

    def lower(self) -> LowerTexts:
        """All texts in lower case, in their order."""
        with self._lock:  # several threads may filter at once
            self._lower.extend(map(str.lower, self.texts[len(self._lower) :]))
            return self._lower


TOOLS_APART = "\n"
"""Separator of the names of tools that one rollout used."""


ROOM = 256
"""Rows by which a column grows."""


def _reach(column: array[Any], row: int, missing: float) -> None:
    """Makes room for this row and the next ones, which are about to come."""
    column.extend(array(column.typecode, [missing]) * (row + ROOM - len(column)))


class RowDetails:
    """Columns indexed by row; each is at least as long as the rows that have something in it."""

    def __init__(self) -> None:
        self.stop = Codes()
        self.error = Codes()
        self.error_class = Codes()
        self.finish = Codes()
        """Finish reason of the last answer."""
        self.models = Codes()
        """Names of models that answered and were not requested, with `TOOLS_APART` between."""
        self.tools = Codes()
        """Names of the tools that were used, with `TOOLS_APART` between them."""
        self.failed_tools = Codes()
        """Names of tools with a failed call."""
        self.truncated: set[int] = set()
        self.code: dict[int, int] = {}
        """Version of the code of a rollout, where that is not the first."""
        self.metrics: dict[str, array[float]] = {}
        self.no_number: set[int] = set()
        """Rows with a reward that is no number."""
        self.metrics_no_number: Counter[str] = Counter()
        """Numbers of rows with a metric that is no number, by its name."""
        self.numbers: dict[int, int] = {}
        """The number of a rollout in its group, where its row does not have it."""
        self.questions = Heads()
        """Questions by the example's place."""
        self.answers = Heads()
        """Answers by row."""

    def add(self, event: RolloutFinished, per_example: int) -> None:
        """Takes in a finished rollout."""
        row = event.row
        self.stop.put(row, event.stop_condition or "")
        if event.error is not None:
            self.error.put(row, event.error)
            self.error_class.put(row, class_of_event(event))
        if event.finish_reason:
            self.finish.put(row, event.finish_reason)
        if event.models:
            self.models.put(row, TOOLS_APART.join(sorted(event.models)))
        if event.tools:
            self.tools.put(row, TOOLS_APART.join(sorted(event.tools)))
            failed = sorted(name for name, (_, errors) in event.tools.items() if errors)
            self.failed_tools.put(row, TOOLS_APART.join(failed))
        if event.truncated:
            self.truncated.add(row)
        if event.code != 1:
            self.code[row] = event.code
        if event.number != row % per_example:
            self.numbers[row] = event.number
        self.questions.put(row // per_example, event.question)
        self.answers.put(row, event.answer)

    def add_metric(self, row: int, name: str, value: float) -> None:
        """Takes in a metric of a finished rollout that is a number."""
        column = self.metrics.get(name)
        if column is None:
            column = self.metrics[name] = array("d")
        if row >= len(column):
            _reach(column, row, math.nan)
        column[row] = value

    def remove(self, row: int) -> None:
        """Takes an errored rollout back; the text of its example stays."""
        texts = (self.stop, self.error, self.error_class, self.finish, self.models, self.tools)
        for column in (*texts, self.failed_tools, self.answers):
            column.remove(row)
        self.truncated.discard(row)
        self.code.pop(row, None)
        self.numbers.pop(row, None)

    def metric(self, name: str, row: int) -> float:
        """A metric of a rollout; NaN where it has none."""
        column = self.metrics[name]
        return column[row] if row < len(column) else math.nan

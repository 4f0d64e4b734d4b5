"""What is known of every finished rollout beside numbers: texts told once, and metrics."""

from __future__ import annotations

import math
from array import array
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.events import RolloutFinished


class Codes:
    """A column of texts that often repeat: a small number a row, and the texts; 0 is no text.

    Rows behind the end of `codes` have no text.
    """

    def __init__(self) -> None:
        self.codes = array("I")
        self.texts: list[str] = [""]
        self._code_of = {"": 0}

    def put(self, row: int, text: str) -> None:
        """Sets a row's text."""
        code = self._code_of.get(text)
        if code is None:
            code = self._code_of[text] = len(self.texts)
            self.texts.append(text)
        if code:
            _reach(self.codes, row, 0)
            self.codes[row] = code

    def remove(self, row: int) -> None:
        """Takes a row's text away."""
        if row < len(self.codes):
            self.codes[row] = 0

    def get(self, row: int) -> str:
        """A row's text."""
        return self.texts[self.codes[row]] if row < len(self.codes) else ""


class Heads:
    """Beginnings of texts, one a place, and the same in lower case once somebody searches."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self._lower: list[str] = [""]
        self._lock = Lock()

    def put(self, place: int, text: str) -> None:
        """Sets the text of a place that has none yet."""
        if text and not self.texts.get(place):
            if place in self.texts:
                self._forget_lower()
            self.texts[place] = text

    def remove(self, place: int) -> None:
        """Takes a text away; its place in the order stays, so that who looks meanwhile is right."""
        if self.texts.get(place):
            self.texts[place] = ""
            self._forget_lower()

    def _forget_lower(self) -> None:
        with self._lock:
            self._lower = [""]

    def get(self, place: int) -> str:
        """The text of a place; empty where there is none."""
        return self.texts.get(place, "")

    def lower(self) -> list[str]:
        """An empty text, then all texts in lower case in the order in which they were put."""
        with self._lock:  # several threads may filter at a time
            new = list(self.texts.values())[len(self._lower) - 1 :]
            self._lower += map(str.lower, new)
            return self._lower


TOOLS_APART = "\n"
"""Between the names of the tools that one rollout used."""


def _reach(column: array[Any], row: int, missing: float) -> None:
    more = row + 1 - len(column)
    if more > 0:
        column.extend(array(column.typecode, [missing]) * more)


class RowFacts:
    """Columns indexed by row; each is as long as the rows need that have something in it."""

    def __init__(self) -> None:
        self.stop = Codes()
        self.error = Codes()
        self.tools = Codes()
        """Names of the tools that were used, with `TOOLS_APART` between them."""
        self.failed_tools = Codes()
        """Names of those of which a call went wrong."""
        self.truncated: set[int] = set()
        self.metrics: dict[str, array[float]] = {}
        self.numbers: dict[int, int] = {}
        """The number of a rollout in its group, where its row does not tell it."""
        self.questions = Heads()
        """By the example's place."""
        self.answers = Heads()
        """By row."""

    def add(self, event: RolloutFinished, per_example: int) -> None:
        """Takes in a finished rollout."""
        row = event.row
        self.stop.put(row, event.stop_condition or "")
        self.error.put(row, event.error or "")
        if event.tools:
            self.tools.put(row, TOOLS_APART.join(sorted(event.tools)))
            failed = sorted(name for name, (_, errors) in event.tools.items() if errors)
            self.failed_tools.put(row, TOOLS_APART.join(failed))
        if event.truncated:
            self.truncated.add(row)
        if event.number != row % per_example:
            self.numbers[row] = event.number
        self.questions.put(row // per_example, event.question)
        self.answers.put(row, event.answer)
        if event.error is None:
            for name, value in event.metrics.items():
                column = self.metrics.get(name)
                if column is None:
                    column = self.metrics[name] = array("d")
                _reach(column, row, math.nan)
                column[row] = value

    def remove(self, row: int) -> None:
        """Takes an errored rollout back: what it said of its example stays."""
        self.stop.remove(row)
        self.error.remove(row)
        self.tools.remove(row)
        self.failed_tools.remove(row)
        self.truncated.discard(row)
        self.numbers.pop(row, None)
        self.answers.remove(row)

    def metric(self, name: str, row: int) -> float:
        """A metric of a rollout; NaN where it has none."""
        column = self.metrics[name]
        return column[row] if row < len(column) else math.nan

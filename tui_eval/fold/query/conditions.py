"""Conditions on the numbers of a run: `low(reward) < 0.7 or errored > 3`.

A comparison is a measure, `<`, `<=`, `>` or `>=`, and a number; `and`, `or` and parentheses join
comparisons. A measure is a count, or `mean`, `low`, `high` or `width` of a name, with quotes around
a name that holds other signs than letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.query.nodes import quoted
from tui_eval.stats.rewards import is_equal

FUNCTIONS = ("mean", "low", "high", "width")
COUNTS = ("errored", "missing", "no_number", "used")
OPERATORS = ("<", "<=", ">", ">=")
_BARE = re.compile(r'[^\s()"<>=!]+')


class Estimate(NamedTuple):
    """A mean and its 95 % interval; None for unknown ones."""

    mean: float | None
    low: float | None
    high: float | None


Look: TypeAlias = Callable[[str], Estimate | None]
"""Known numbers of a name; None where there are none."""


class ConditionError(RefusedError):
    """A condition that makes no sense: every fault, and the character of each, from 1.

    Args:
        where: The flag or key that holds it.
        places: (character, what is wrong, what to do about it), each.
    """

    def __init__(self, where: str, places: Iterable[tuple[int, str, str]]) -> None:
        super().__init__(Fault(f"{where}, character {at}", *rest) for at, *rest in sorted(places))


class Measure(msgspec.Struct, frozen=True):
    """A number of a run."""

    function: str
    """One of `FUNCTIONS`; empty for a count."""
    name: str
    """Name of its mean, or of the count."""
    at: int
    """Place of the name in the condition, from 1."""

    def __str__(self) -> str:
        bare = self.name if _BARE.fullmatch(self.name) else quoted(self.name)
        return f"{self.function}({bare})" if self.function else self.name

    def value(self, look: Look, counts: Mapping[str, int]) -> float | None:
        """Its present value; None where there is no such number."""
        if not self.function:
            return counts.get(self.name)
        found = look(self.name)
        if found is None:
            return None
        if self.function == "width":
            return None if found.low is None or found.high is None else found.high - found.low
        return {"mean": found.mean, "low": found.low, "high": found.high}[self.function]


class Judged(NamedTuple):
    """Result of a condition."""

    truth: bool | None
    """None where it depends on a number that does not exist."""
    reason: str
    """The comparisons that decide, with their values."""


class Comparison(msgspec.Struct, frozen=True):
    """A measure against a number."""

    measure: Measure
    operator: str
    limit: float

    def __str__(self) -> str:
        return f"{self.measure} {self.operator} {_digits(self.limit)}"

    def judge(self, look: Look, counts: Mapping[str, int]) -> Judged:
        """See `Condition`."""
        value = self.measure.value(look, counts)
        if value is None:
            return Judged(None, f"{self.measure} is not known")
        holds = self._holds(value)
        text = f"{value:.4g}"
        if self._holds(float(text)) != holds or abs(value) >= 1e4:
            text = _digits(value)
        is_not = "" if holds else "not "
        return Judged(
            holds, f"{self.measure} = {text} {is_not}{self.operator} {_digits(self.limit)}"
        )

    def _holds(self, value: float) -> bool:
        if is_equal(value, self.limit):
            return self.operator in ("<=", ">=")
        return value < self.limit if self.operator in ("<", "<=") else value > self.limit

    def measures(self) -> Iterator[Measure]:
        """See `Condition`."""
        yield self.measure


class Joined(msgspec.Struct, frozen=True):
    """Two parts or more, joined by `and` or by `or`.

    An unknown part decides only where no other part does (Kleene's logic of three values).
    """

    word: str
    parts: tuple[Comparison | Joined, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(
            f"({part})" if isinstance(part, Joined) else str(part) for part in self.parts
        )

    def judge(self, look: Look, counts: Mapping[str, int]) -> Judged:
        """See `Condition`."""
        found = [part.judge(look, counts) for part in self.parts]
        decides = self.word == "or"
        for one in found:
            if one.truth is decides:
                return one
        truth = None if any(one.truth is None for one in found) else not decides
        return Judged(truth, " and ".join(one.reason for one in found if one.truth is truth))

    def measures(self) -> Iterator[Measure]:
        """See `Condition`."""
        for part in self.parts:
            yield from part.measures()


class Condition(msgspec.Struct, frozen=True):
    """Condition of a flag or key (`where`), as data that prints itself in its own language."""

    whole: Comparison | Joined
    where: str

    def __str__(self) -> str:
        return str(self.whole)

    def judge(self, look: Look, counts: Mapping[str, int]) -> Judged:
        """Whether it is true of some numbers; counts are by the names in `COUNTS`."""
        return self.whole.judge(look, counts)

    def measures(self) -> list[Measure]:
        """The numbers that it needs, in the order in which they are in it."""
        return list(self.whole.measures())


def _digits(value: float) -> str:
    """A number with all its digits, without a point where it is whole."""
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else repr(value)

"""One measured figure, its limit, and whether the limit is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


class NotMeasuredError(Exception):
    """A measurement went wrong, so that its figure means nothing; says what happened."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its limit.

    Args:
        what: Name of the measurement, in a few words.
        value: The number.
        limit: Largest value, or smallest with `at_least`; None for no limit.
        unit: Printed behind the numbers.
        note: The absolute numbers that it was made from.
    """

    what: str
    value: float
    limit: float | None = None
    unit: str = ""
    note: str = ""
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the limit is kept; a value that is no number never keeps one."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        mark = "    " if self.limit is None else "ok  " if self.kept else "MISS"
        sign = ">=" if self.at_least else "<="
        limit = "" if self.limit is None else f"{sign} {number(self.limit)}{self.unit}"
        note = f"  ({self.note})" if self.note else ""
        return f"{mark} {self.what:<58} {number(self.value) + self.unit:>10} {limit:<12}{note}"


def number(value: float) -> str:
    """A number with about three digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def exit_code(figures: Iterable[Figure]) -> int:
    """0 where every limit is kept, else 1."""
    return 0 if all(figure.kept for figure in figures) else 1


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of the values does not exceed.

    Raises:
        NotMeasuredError: There are no values.
    """
    if not values:
        raise NotMeasuredError("nothing was recorded")
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def spread(values: Sequence[float]) -> str:
    """The median of repeats with their range, as text."""
    return f"{number(median(values))}, {number(min(values))} to {number(max(values))}"

"""Verdicts on differences: better, worse, or inconclusive, and the examples needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum

import msgspec

from tui_eval.exit_codes import ExitCode
from tui_eval.stats.intervals import unseen_share
from tui_eval.stats.paired import PairedDifference, newcombe
from tui_eval.stats.power import (
    LEAST_EXAMPLES,
    LEVEL,
    POWER,
    examples_needed,
    least_number,
    smallest_difference,
)
from tui_eval.stats.rewards import is_equal
from tui_eval.stats.student_t import (
    incomplete_beta,
    noncentral_t_exceeds,
    t_chance,
    t_quantile,
)


class Direction(StrEnum):
    """Direction of a difference."""

    HIGHER = "higher"
    LOWER = "lower"
    INCONCLUSIVE = "inconclusive"


class Verdict(msgspec.Struct, frozen=True):
    """Verdict on a paired difference."""

    direction: Direction
    """Inconclusive below `LEAST_EXAMPLES` pairs, and where p and interval disagree."""
    why: str = ""
    """Reason for being inconclusive; empty where it is not."""
    detectable: float | None = None
    """The smallest difference that so many examples could show; None where they could show none, or
    nobody knows how much examples differ."""
    needed: int | None = None
    """Examples in all that would show the seen difference; None where the number is not
    known."""

    @property
    def is_conclusive(self) -> bool:
        """Whether there is a difference."""
        return self.direction is not Direction.INCONCLUSIVE


def judge(found: PairedDifference, p: float | None) -> Verdict:
    """Gives the verdict on a difference.

    Args:
        p: Its chance, raised where several were looked at; None where there is none.
    """
    mean, n = found.mean, found.n
    if mean is None:
        return Verdict(Direction.INCONCLUSIVE, "no example is shared")
    below = p is not None and p < LEVEL
    beyond = found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
    if n >= LEAST_EXAMPLES and below and beyond:
        return Verdict(Direction.HIGHER if mean > 0 else Direction.LOWER)
    sd = None if found.se is None else found.se * math.sqrt(n)
    detectable = smallest_difference(sd, n) if sd else None
    few_differ = found.differing is not None
    if detectable is not None and few_differ:
        detectable = max(detectable, found.half_width(n))
    if sd == 0 and n >= LEAST_EXAMPLES and found.high is not None:
        detectable = found.high - mean
    needed = None
    if sd and not is_equal(mean, 0.0):
        needed = examples_needed(sd, mean, found.half_width if few_differ else None)
    why = "within chance"
    if below or beyond:
        raised = found.p is not None and found.p < LEVEL <= (found.p if p is None else p)
        why = "within chance, as so many are looked at" if raised else "p and interval disagree"
        if found.low is None:
            why = "all differences are equal, so there is no interval"
    if n < LEAST_EXAMPLES:
        why = f"fewer than {LEAST_EXAMPLES} shared examples"
        needed = max(needed or 0, LEAST_EXAMPLES)
    more = needed if needed is not None and needed > n else None
    return Verdict(Direction.INCONCLUSIVE, why, detectable, more)


MARGIN = 0.02
"""Default margin by which a run may be worse."""


class Gate(msgspec.Struct, frozen=True):
    """Verdict of a gate on a difference."""

    code: ExitCode
    """`FINISHED` for passed, `FAILED`, `INCONCLUSIVE` or `NOTHING_MEASURED`."""
    why: str
    """The deciding sentence."""
    power: float | None = None
    """Chance that it passes where nothing changed, from 0 to 1; None where the differences do not
    say how much they vary."""


def judge_gate(
    found: PairedDifference, margin: float = MARGIN, *, lower_is_better: bool = False
) -> Gate:
    """Whether a difference, second minus first, is no worse than -margin.

    The interval alone decides, from `LEAST_EXAMPLES` pairs on: it passes above -margin, and fails
    below 0 where it does not pass.

    Args:
        margin: 0 or more, in the units of the difference.
        lower_is_better: The difference must not be above margin instead.
    """
    if found.mean is None:
        return Gate(ExitCode.NOTHING_MEASURED, "no example has a number in both runs")
    power = gate_power(found, margin)
    if found.n < LEAST_EXAMPLES:
        why = f"fewer than {LEAST_EXAMPLES} shared examples"
        return Gate(ExitCode.INCONCLUSIVE, why, 0.0)
    if found.low is None or found.high is None:
        why = "all differences are equal, and the range of the values is not known"
        return Gate(ExitCode.INCONCLUSIVE, why)
    low, high = (-found.high, -found.low) if lower_is_better else (found.low, found.high)
    if low > -margin:
        return Gate(ExitCode.FINISHED, "no worse by more than the margin", power)
    if high < 0:
        how = "worse" if high < -margin else "worse, and perhaps"
        why = f"{how} by more than the margin"
        return Gate(ExitCode.FAILED, why, power)
    why = "it may be worse by more than the margin, and may be no worse"
    return Gate(ExitCode.INCONCLUSIVE, why, power)


def gate_power(found: PairedDifference, margin: float) -> float | None:
    """Chance that a gate passes where nothing changed; None where it is not known.

    See `_chance` for each kind of interval. Whether lower or higher is better does not matter.
    """
    chance = _chance(found, margin)
    return None if chance is None else chance(found.n)


def examples_for_gate(found: PairedDifference, margin: float) -> int | None:
    """About the least number of examples, above the ones there are, with power `POWER`.

    None where these are enough, and where no number up to `power.MOST_EXAMPLES` is.
    """
    chance = _chance(found, margin)
    if chance is None or chance(found.n) >= POWER:
        return None
    return least_number(lambda n: chance(n) >= POWER, max(found.n, LEAST_EXAMPLES - 1))


def _chance(found: PairedDifference, margin: float) -> Callable[[int], float] | None:
    """Chance of passing what is unchanged, by how many examples there are that differ like these.

    Student's t passes where mean + margin > t SE: the left side over SE is noncentral t with the
    shift margin / SE; where few examples differ, the mean has to be above a half width that does
    not hang on SE as well. Newcombe's interval is of counts: where nothing changed, each pair that
    disagrees falls to either side by a coin. Equal differences stay so.
    """
    if found.table is not None:
        table = found.table
        return lambda n: _newcombe_chance(table, n, margin) if n >= LEAST_EXAMPLES else 0.0
    if found.method == "bound" and found.mean is not None and found.low is not None:
        half = max(found.mean - found.low, (found.high or 0.0) - found.mean)  # one may be cut off
        scale = half / unseen_share(found.n)
        return lambda n: float(n >= LEAST_EXAMPLES and scale * unseen_share(n) < margin)
    if found.se:
        return lambda n: _t_chance(found, n, margin) if n >= LEAST_EXAMPLES else 0.0
    return None


def _t_chance(found: PairedDifference, n: int, margin: float) -> float:
    se = (found.se or 0.0) * math.sqrt(found.n / n)
    chance = noncentral_t_exceeds(t_quantile(1 - LEVEL / 2, n - 1), n - 1, margin / se)
    if found.differing is None:
        return chance
    return min(chance, t_chance((margin - found.half_width(n)) / se, n - 1))


def _newcombe_chance(table: tuple[int, int, int, int], n: int, margin: float) -> float:
    both, only_first, only_second, _ = table
    times = n / sum(table)
    both = round(both * times)
    differing = min(round((only_first + only_second) * times), n - both)
    neither = n - both - differing
    few, many = -1, differing + 1  # the interval rises with each pair that falls to the first
    while many - few > 1:
        middle = (few + many) // 2
        low, _ = newcombe(both, middle, differing - middle, neither)
        few, many = (few, middle) if low > -margin else (middle, many)
    if many in (0, differing + 1):
        return float(many == 0)
    return incomplete_beta(0.5, many, differing - many + 1)

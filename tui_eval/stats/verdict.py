"""Whether a difference is one: better, worse, or inconclusive, and what it would take."""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

from tui_eval.stats.paired import PairedDifference
from tui_eval.stats.power import LEAST_EXAMPLES, LEVEL, examples_needed, smallest_difference
from tui_eval.stats.rewards import is_equal


class Direction(StrEnum):
    """Which way a difference goes."""

    HIGHER = "higher"
    LOWER = "lower"
    INCONCLUSIVE = "inconclusive"


class Verdict(msgspec.Struct, frozen=True):
    """What a paired difference means.

    Args:
        direction: Inconclusive below `LEAST_EXAMPLES` pairs, and where p and interval disagree.
        why: Why it is inconclusive; empty where it is not.
        detectable: The smallest difference that so many examples could show; None where they
            could show none, or nobody knows how much examples differ.
        needed: So many examples in all would show the difference that was seen; None where no
            number is known.
    """

    direction: Direction
    why: str = ""
    detectable: float | None = None
    needed: int | None = None

    @property
    def is_conclusive(self) -> bool:
        """Whether there is a difference."""
        return self.direction is not Direction.INCONCLUSIVE


def judge(found: PairedDifference, p: float | None) -> Verdict:
    """What a difference means.

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

"""Paired differences of two runs over the same examples, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from tui_eval.stats.arrays import np
from tui_eval.stats.intervals import Interval, unseen_share, widened, wilson
from tui_eval.stats.power import LEAST_EXAMPLES
from tui_eval.stats.rewards import DIGITS, ROUNDING, TOLERANCE, is_equal
from tui_eval.stats.sign_flip import FLIPS, sign_flips
from tui_eval.stats.student_t import t_quantile

Table: TypeAlias = tuple[int, int, int, int]
"""Pairs in which both pass, only the first, only the second, neither."""


class PairedDifference(msgspec.Struct, frozen=True):
    """The mean of differences within pairs."""

    n: int
    """Pairs: examples that both runs have."""
    mean: float | None
    """None where there is no pair."""
    se: float | None
    """Standard error of the mean; None below two pairs."""
    low: float | None
    high: float | None
    """95 % interval; None where nothing can be said."""
    method: str
    """Method of the interval: `newcombe`; `t` with n - 1 degrees of freedom; `t_widened` where few
    differ; `bound` where all differences are equal, which is what so many equal ones exclude; or
    `none`."""
    p: float | None
    """Chance of so great a difference where there is none, two-sided; None where nothing can be
    said."""
    test: str = "none"
    """Test of `p`: `mcnemar` (exact), `sign_flip` (all flips), `sign_flip_drawn`, or `none`."""
    table: Table | None = None
    """Pairs by which side passes, as `newcombe` takes them; None for other methods."""
    scale: float | None = None
    """Greatest possible distance of two values; None where it is not known."""
    differing: int | None = None
    """Pairs whose difference is not the commonest one, where they are so few that the interval is
    wider for it; else None."""

    def half_width(self, n: int) -> float:
        """Half the width of Student's t interval of `n` >= 6 pairs that differ like these do."""
        half = t_quantile(0.975, n - 1) * (self.se or 0.0) * math.sqrt(self.n / n)
        if self.differing is None or self.scale is None:
            return half
        return widened(half, n, self.differing * n / self.n, self.scale)


NO_DIFFERENCE = PairedDifference(0, None, None, None, None, "none", None)


class Pairs(msgspec.Struct, frozen=True):
    """One number of the examples that two runs share."""

    first: np.ndarray
    second: np.ndarray
    """Example means in each run, shape (pairs,)."""
    single: bool = False
    """Whether each of them is one rollout that passes or fails."""
    scale: float | None = None
    """Greatest possible distance of two values; None where it is not known, and then equal
    differences have no interval."""


def paired_differences(all_of: Sequence[Pairs], flips: int = FLIPS) -> list[PairedDifference]:
    """The means of `first - second` of several numbers, whose tests share their flips.

    Values of 0 and 1 that come from one rollout each have Newcombe's interval and McNemar's test;
    others have Student's t and the sign-flip test. Where all differences are equal, t would have
    width 0: then the interval is what that many equal ones exclude.

    Args:
        flips: How many are drawn of more than 2^16.
    """
    found: dict[int, PairedDifference] = {}
    flipped: list[tuple[int, Pairs]] = []
    for place, pairs in enumerate(all_of):
        if not len(pairs.first):
            found[place] = NO_DIFFERENCE
        elif pairs.single and _is_pass_or_fail(pairs.first) and _is_pass_or_fail(pairs.second):
            table = _table(pairs.first, pairs.second)
            found[place] = _difference(pairs, mcnemar(table[1], table[2]), "mcnemar", table)
        else:
            flipped.append((place, pairs))
    chances = sign_flips([pairs.first - pairs.second for _, pairs in flipped], flips)
    for (place, pairs), (p, exact) in zip(flipped, chances, strict=True):
        found[place] = _difference(pairs, p, "sign_flip" if exact else "sign_flip_drawn", None)
    return [found[place] for place in range(len(all_of))]


def _difference(pairs: Pairs, p: float | None, test: str, table: Table | None) -> PairedDifference:
    differences, n, scale = pairs.first - pairs.second, len(pairs.first), pairs.scale
    mean = math.fsum(differences) / n
    se = _standard_error(differences, mean) if n > 1 else None
    all_equal = is_equal(float(differences.max()), float(differences.min()))
    ends: Interval | None = None
    method, differing = "none", None
    if all_equal and (table is None or abs(mean) <= TOLERANCE):
        if scale is not None and n > 1:
            half = unseen_share(n) * scale
            ends, method = (mean - half, mean + half), "bound"
    elif table is not None:
        ends, method = newcombe(*table), "newcombe"
    elif se:
        half = t_quantile(0.975, n - 1) * se
        wide, differing = _widened(half, differences, scale)
        ends, method = (mean - wide, mean + wide), "t" if differing is None else "t_widened"
    if ends and scale is not None:
        ends = max(ends[0], -scale), min(ends[1], scale)
    low, high = ends or (None, None)
    shown = table if method == "newcombe" else None
    return PairedDifference(n, mean, se, low, high, method, p, test, shown, scale, differing)


def _widened(half: float, differences: np.ndarray, scale: float | None) -> tuple[float, int | None]:
    """Half the width of an interval and, where it is not that of t, how few pairs differ."""
    n = len(differences)
    if scale is None or n < LEAST_EXAMPLES or half >= unseen_share(n) * scale:
        return half, None
    _, counts = np.unique(np.round(differences, DIGITS), return_counts=True)
    differing = n - int(counts.max())
    wide = widened(half, n, differing, scale)
    return wide, differing if wide > half else None


def _standard_error(differences: np.ndarray, mean: float) -> float:
    spread = math.fsum((differences - mean) ** 2)
    if spread < ROUNDING * math.fsum(differences**2):
        return 0.0
    return math.sqrt(spread / (len(differences) - 1) / len(differences))


def _is_pass_or_fail(values: np.ndarray) -> bool:
    near = (abs(values) <= TOLERANCE) | (abs(values - 1.0) <= TOLERANCE)
    return bool(near.all())


def _table(one: np.ndarray, other: np.ndarray) -> Table:
    """Pairs in which both pass, only one, only the other, neither."""
    a, b = one > 0.5, other > 0.5
    return int((a & b).sum()), int((a & ~b).sum()), int((b & ~a).sum()), int((~a & ~b).sum())


def newcombe(both: int, only_first: int, only_second: int, neither: int) -> Interval:
    """95 % interval of a difference of shares, from paired passes: method 10 of Newcombe 1998."""
    n = both + only_first + only_second + neither
    first, second = both + only_first, both + only_second
    (low1, high1), (low2, high2) = wilson(first, n), wilson(second, n)
    p1, p2 = first / n, second / n
    product = first * (n - first) * second * (n - second)
    excess = both * neither - only_first * only_second
    corrected = max(excess - n / 2, 0.0) if excess > 0 else float(excess)  # for continuity
    phi = corrected / math.sqrt(product) if product else 0.0
    below = _distance(p1 - low1, high2 - p2, phi)
    above = _distance(high1 - p1, p2 - low2, phi)
    return max(p1 - p2 - below, -1.0), min(p1 - p2 + above, 1.0)


def _distance(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(one * one - 2 * phi * one * other + other * other, 0.0))


def mcnemar(only_first: int, only_second: int) -> float | None:
    """McNemar's exact test, two-sided, on pairs that disagree; None where none does."""
    n, least = only_first + only_second, min(only_first, only_second)
    if not n:
        return None
    ways = total = 1
    for chosen in range(1, least + 1):
        ways = ways * (n - chosen + 1) // chosen
        total += ways
    return min(2 * total / (1 << n), 1.0)


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests, each raised so that all hold together (Holm 1979)."""
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    found = [0.0] * len(chances)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min((len(chances) - rank) * chances[place], 1.0))
        found[place] = highest
    return found

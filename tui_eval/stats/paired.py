"""Two runs over the same examples: differences within each example, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tui_eval.stats.mean import ROUNDING, Z95, wilson


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of differences within pairs.

    Args:
        n: Pairs.
        mean: None where there is no pair.
        se: Standard error of the mean; None below two pairs.
        low, high: 95 % interval; None where nothing can be said.
        method: `newcombe` where both sides pass or fail, `paired` otherwise, or `none`.
        p: Chance of so great a difference where there is none, two-sided: McNemar's exact test
            where both sides pass or fail, the normal distribution otherwise; None where nothing
            can be said.
    """

    n: int
    mean: float | None
    se: float | None
    low: float | None
    high: float | None
    method: str
    p: float | None


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, is_share: bool = True
) -> PairedDifference:
    """The mean of `first - second`, pair by pair.

    Args:
        is_share: Whether values that are all 0 or 1 pass or fail.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    n = len(differences)
    if not n:
        return PairedDifference(0, None, None, None, None, "none", None)
    mean = math.fsum(differences) / n
    se = None
    if n > 1:
        spread = math.fsum((d - mean) ** 2 for d in differences)
        if spread < ROUNDING * math.fsum(d * d for d in differences):
            spread = 0.0
        se = math.sqrt(spread / (n - 1) / n)
    if is_share and all(value in (0.0, 1.0) for value in (*first, *second)):
        both = sum(a * b == 1.0 for a, b in zip(first, second, strict=True))
        only_first, only_second = differences.count(1.0), differences.count(-1.0)
        neither = n - both - only_first - only_second
        low, high = newcombe(both, only_first, only_second, neither)
        p = mcnemar(only_first, only_second)
        return PairedDifference(n, mean, se, low, high, "newcombe", p)
    if not se:
        return PairedDifference(n, mean, se, None, None, "none", None)
    p = math.erfc(abs(mean) / se / math.sqrt(2))
    return PairedDifference(n, mean, se, mean - Z95 * se, mean + Z95 * se, "paired", p)


def newcombe(both: int, only_first: int, only_second: int, neither: int) -> tuple[float, float]:
    """95 % interval of a paired difference of shares: method 10 of Newcombe 1998, one pair least.

    Args:
        both, only_first, only_second, neither: Pairs by which side passes.
    """
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

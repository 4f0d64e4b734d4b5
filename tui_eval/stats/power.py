"""Power: what a number of examples can show, and how many are needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from tui_eval.stats.student_t import t_quantile

LEVEL = 0.05
"""A chance that is not below this does not distinguish a difference from none."""
POWER = 0.8
"""Chance with which an existing difference is to be found."""
MOST_EXAMPLES = 10**9
"""Examples beyond which a difference is rounding, or does not matter."""
LEAST_EXAMPLES = 6
"""With fewer pairs no sign-flip test can be below `LEVEL`: of five the least is 2/32."""


def smallest_difference(sd: float, n: int) -> float | None:
    """The smallest true difference that `n` pairs show with chance `POWER` (the MDE).

    (t(1 - LEVEL/2) + t(POWER)) sd / sqrt(n) with n - 1 degrees of freedom: Miller 2024
    (arXiv 2411.00640, section 5), with t for z.

    Args:
        sd: Standard deviation of the differences of the examples.
        n: Pairs; None is returned for fewer than `LEAST_EXAMPLES`, which can show none.
    """
    if n < LEAST_EXAMPLES:
        return None
    return (t_quantile(1 - LEVEL / 2, n - 1) + t_quantile(POWER, n - 1)) * sd / math.sqrt(n)


def least_number(is_enough: Callable[[int], bool], above: int) -> int | None:
    """The least number above one that is enough; None beyond `MOST_EXAMPLES`.

    Args:
        is_enough: False up to some number, and true from there on.
    """
    few, many = above, max(2 * above, 1)
    while not is_enough(many):
        few, many = many, many * 2
        if few > MOST_EXAMPLES:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return many


def examples_needed(
    sd: float, difference: float, half_width: Callable[[int], float] | None = None
) -> int | None:
    """The least number of pairs whose smallest difference is this one; None beyond `MOST_EXAMPLES`.

    Args:
        sd: Standard deviation of the differences of the examples.
        half_width: Of the interval of so many pairs at least; the difference is to be beyond it.
    """

    def is_enough(n: int) -> bool:
        least = smallest_difference(sd, n)
        beyond = half_width is None or half_width(n) <= abs(difference)
        return beyond and least is not None and least <= abs(difference)

    return least_number(is_enough, LEAST_EXAMPLES - 1)


EACH = (1, 2, 4, 8, 16)
"""Rollouts of an example that are planned with."""


class Spread(msgspec.Struct, frozen=True):
    """Spread of a pilot's rewards."""

    groups: int
    """Examples with a reward."""
    mean: float
    """Mean of the examples' means."""
    total: float
    """Variance of the examples' means, as they were measured."""
    within: float | None
    """Variance of rollouts of one example; None where no example has two."""
    per_rollout: float
    """Mean of 1 / rollouts over the examples."""

    @property
    def between(self) -> float:
        """Variance of the examples' true means: what chance does not explain."""
        return max(self.total - (self.within or 0.0) * self.per_rollout, 0.0)


def spread_of(groups: Sequence[Sequence[float]]) -> Spread | None:
    """The spread of the rewards of each example; None below two examples with a reward."""
    kept = [group for group in groups if len(group)]
    if len(kept) < 2:
        return None
    means = [math.fsum(group) / len(group) for group in kept]
    mean = math.fsum(means) / len(means)
    total = math.fsum((one - mean) ** 2 for one in means) / (len(means) - 1)
    freedom = sum(len(group) - 1 for group in kept)
    squares = math.fsum(
        (value - own) ** 2 for group, own in zip(kept, means, strict=True) for value in group
    )
    within = squares / freedom if freedom else None
    return Spread(len(kept), mean, total, within, math.fsum(1 / len(g) for g in kept) / len(kept))


class Need(msgspec.Struct, frozen=True):
    """Size of each of two runs that can show a difference."""

    each: int
    examples: int

    @property
    def rollouts(self) -> int:
        """Rollouts of one run."""
        return self.each * self.examples


def unlike(first: Spread, correlation: float) -> float:
    """Variance of the examples' true differences between two runs of which one is known.

    Args:
        correlation: How alike the examples' true means are in both, 0 to 1.
    """
    return 2 * first.between * (1 - correlation)


def measured_unlike(first: Spread, second: Spread, differences: float) -> float:
    """The same variance where both runs are known.

    Args:
        differences: Variance of the differences of the examples' measured means.
    """
    chance = sum((one.within or 0.0) * one.per_rollout for one in (first, second))
    return max(differences - chance, 0.0)


def needs(first: Spread, second: Spread, variance: float, detect: float) -> list[Need]:
    """Sizes that show a difference 8 times of 10, by rollouts of an example.

    The variance of a measured difference is ω² + σA²/K + σB²/K: Miller 2024 (arXiv 2411.00640,
    section 5); how many examples it takes is `power.examples_needed`.

    Args:
        first, second: Of the two runs; twice the same where only one is known. Where rollouts of
            one example are not known, all numbers are for one rollout an example, and all of the
            spread counts as chance.
        variance: ω², of the examples' true differences.
        detect: The difference, above 0.
    """
    if first.within is None or second.within is None:
        found = examples_needed(math.sqrt(first.total + second.total), detect)
        return [] if found is None else [Need(1, found)]
    chance = first.within + second.within
    sizes = ((each, examples_needed(math.sqrt(variance + chance / each), detect)) for each in EACH)
    return [Need(each, examples) for each, examples in sizes if examples is not None]

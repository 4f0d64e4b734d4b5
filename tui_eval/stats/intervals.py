"""95 % intervals of one mean that hold for few examples too.

Rollouts of one example are not independent, and a handful of examples says little about how much
examples differ. So rewards of 0 and 1 have Wilson's interval on the number of independent rollouts
that they are worth, and others Student's t with the degrees of freedom that their examples leave.

An interval for a fixed number of values that is looked at again and again misses the mean far more
often than it says. One of these is a confidence sequence, for what stops a run early: the chance
that it misses at any time is 5 % at most. It is the wider for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tui_eval.stats.rewards import TOLERANCE
from tui_eval.stats.student_t import Z95

AGREEING = 15
"""Disagreeing examples at which the standard error has half the weight."""
AGREEING_EACH = 2.5
"""Or this times the rollouts of an example, if more: the more there are, the more it can jump."""

Interval = tuple[float, float]


def wilson(successes: float, n: float) -> Interval:
    """Wilson's interval for a share of `n` >= 1 independent trials (Wilson 1927)."""
    share, z2 = min(max(successes / n, 0.0), 1.0), Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return (
        0.0 if share == 0.0 else max(0.0, centre - half),
        1.0 if share == 1.0 else min(1.0, centre + half),
    )


def effective_number(
    n: int, groups: int, share: float, se: float | None, disagreeing: int
) -> float:
    """Effective number of independent rollouts of 0 or 1, from 1 to `n`.

    The standard error says it where rollouts of many examples disagree, n_eff = p (1 - p) / SE²
    (Kish 1965); where they all agree, an example is worth one rollout. In between the design effect
    n / n_eff goes over from the one to the other, so that no single rollout makes it jump.

    Args:
        n, groups: Rollouts, and the examples that they are of; `n` >= `groups` >= 1.
        share: Their mean.
        se: Its standard error, clustered by example (CR1); None for a single example.
        disagreeing: Examples with rollouts of 0 and of 1.
    """
    size = n / groups
    if se is None or not disagreeing or not 0.0 < share < 1.0:
        return float(groups)
    measured = n * se * se / (share * (1 - share))
    believed = disagreeing / (disagreeing + max(AGREEING, AGREEING_EACH * size))
    effect = (1 - believed) * size + believed * min(max(measured, 1.0), n)
    return n / effect


def degrees_of_freedom(of_size: Sequence[int]) -> float:
    """Degrees of freedom of the standard error of a pooled mean of groups, two at least.

    Bell and McCaffrey 2002 (as Imbens and Kolesár 2016, section 4): those of a chi-squared with the
    mean and variance that the CR2 estimate would have were all values independent. Of equal groups
    they are one less than there are groups.

    Args:
        of_size: Number of groups of each size, from 0 on.
    """
    sizes = [(size, count) for size, count in enumerate(of_size) if size and count]
    if len(sizes) == 1:
        return float(sizes[0][1] - 1)
    n = sum(size * count for size, count in sizes)
    squares = sum(count * size**2 for size, count in sizes)
    weights = [(size**2 / (1 - size / n), count) for size, count in sizes]
    total = sum(weight * count for weight, count in weights)
    own = sum(weight**2 * count for weight, count in weights)
    return float(n**2 / (squares + (total**2 - own) / n**2))


def unseen_share(groups: int) -> float:
    """Exact 97.5 % bound on the share of examples that differ where none of `groups` >= 1 did."""
    return float(-math.expm1(math.log(0.025) / groups))


def widened(half: float, groups: int, differing: float, scale: float) -> float:
    """Half the width of Student's t interval, or more where few of `groups` >= 6 examples differ.

    t knows only the spread that was seen, and a handful of examples that differ from all others
    says little about the rest. Equal examples have `unseen_share`: from there half the width goes
    over to that of t with every example that differs, until five do, or a third of fewer than 15,
    or a tenth of more than 50.

    Args:
        half: Half the width of t's interval.
        differing: Examples whose value is not the commonest one.
        scale: How far apart two values can be at most.
    """
    believed = min(1.0, differing / max(min(5.0, groups / 3), groups / 10))
    return max(half, believed * half + (1 - believed) * unseen_share(groups) * scale)


def estimator_name(method: str, weight: float | None, n: int) -> str:
    """Method of an interval of `n` rollouts, by a `Mean`: `Wilson, n_eff 8.3`."""
    number = "" if weight is None else f"{weight:.4g}"
    names = {
        "wilson": "Wilson" if weight in (None, n) else f"Wilson, n_eff {number}",
        "t": f"t, {number} df",
        "t_widened": f"t, {number} df, widened as few examples differ",
        "bound": "bound for equal examples",
        "anytime": "anytime-valid",
    }
    return names.get(method, method)


def interval_name(method: str, weight: float | None, groups: int, n: int) -> str:
    """Note beside an interval: `Wilson, n_eff 8.3, 5 examples, 15 rollouts`.

    Args:
        groups, n: Examples and rollouts; the rollouts are left out where each example has one.
    """
    if method == "anytime":
        first = "example" if weight == 1 else f"{weight or 0:,.0f} examples"
        return f"anytime-valid, the first {first} in order"
    examples = "1 example" if groups == 1 else f"{groups:,} examples"
    rollouts = f", {n:,} rollouts" if n != groups else ""
    return f"{estimator_name(method, weight, n)}, {examples}{rollouts}"


ALPHA = 0.05
"""The chance that the interval ever misses the mean."""

GREATEST_BET = 0.5
"""The c of equation 14: what no bet exceeds, however small the variance seems."""

_LOG = math.log(2 / ALPHA)


class AnytimeInterval:
    """The predictable plug-in empirical Bernstein confidence sequence; constant cost a value.

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B
    2023 (arXiv 2010.09686), theorem 2 with equations 14 and 15, intersected over time. With values
    X from 0 to 1, l = log(2 / 0.05), m_t = (1/2 + sum X) / (t + 1) and
    s_t = (1/4 + sum (X_i - m_i)^2) / (t + 1), it bets b_t = min(sqrt(2 l / (s_(t-1) t log(1 + t))),
    1/2), and the interval is

        sum b X / sum b  +-  (l + sum (X_i - m_(i-1))^2 (-log(1 - b_i) - b_i)) / sum b.

    The values must be independent, or at least each have the same mean whatever came before it:
    examples in a random order.
    """

    __slots__ = ("_bets", "_losses", "_spread", "_sum", "_weighted", "high", "low", "n")

    def __init__(self) -> None:
        self.n = 0
        self.low, self.high = 0.0, 1.0
        self._sum = self._spread = self._bets = self._weighted = self._losses = 0.0

    @property
    def mean(self) -> float | None:
        """The mean of the values; None of none."""
        return self._sum / self.n if self.n else None

    def fits(self, value: float) -> bool:
        """Whether a value is from 0 to 1, but for what rounding left."""
        return -TOLERANCE <= value <= 1 + TOLERANCE

    def add(self, value: float) -> None:
        """Takes in one value from 0 to 1; a ValueError where it is not."""
        if not self.fits(value):
            raise ValueError(f"{value:g} is not from 0 to 1")
        x = min(max(value, 0.0), 1.0)
        before, variance = (0.5 + self._sum) / (self.n + 1), (0.25 + self._spread) / (self.n + 1)
        self.n += 1
        bet = min(math.sqrt(2 * _LOG / (variance * self.n * math.log(1 + self.n))), GREATEST_BET)
        self._sum += x
        self._spread += (x - (0.5 + self._sum) / (self.n + 1)) ** 2
        self._bets += bet
        self._weighted += bet * x
        self._losses += (x - before) ** 2 * (-math.log1p(-bet) - bet)
        middle, half = self._weighted / self._bets, (_LOG + self._losses) / self._bets
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        both = max(low, self.low), min(high, self.high)
        # Values that cannot have one mean leave nothing in common: then the latest counts.
        self.low, self.high = both if both[0] < both[1] else (low, high)

"""An interval that may be looked at after every value: what stops a run early may lean on it.

An interval for a fixed number of values that is looked at again and again misses the mean far more
often than it says. This one is a confidence sequence: the chance that it misses at any time is 5 %
at most. It is the wider for that.
"""

from __future__ import annotations

import math

from tui_eval.stats.rewards import TOLERANCE

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

"""Student's t: chances and quantiles for any degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

Z95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

NORMAL = NormalDist()
MANY = 1000.0
"""Degrees of freedom from which quantiles are a series around the normal distribution's."""
ALMOST_NORMAL = 1e6
"""Degrees of freedom from which t and the normal distribution agree in six digits."""
STEPS = 10_000
SLICES = 400
"""Pieces of a standard deviation's distribution."""


def t_chance(t: float, df: float) -> float:
    """Chance that Student's t with `df` > 0 degrees of freedom is at most `t`.

    By the incomplete beta function: DLMF 8.17, Abramowitz and Stegun 26.7.1.
    """
    if df >= ALMOST_NORMAL:
        return NORMAL.cdf(t)
    beyond = incomplete_beta(df / (df + t * t), df / 2, 0.5) / 2
    return 1 - beyond if t > 0 else beyond


@lru_cache(maxsize=512)
def t_quantile(share: float, df: float) -> float:
    """The value that Student's t with `df` > 0 stays below with this chance, 0 < `share` < 1."""
    if share < 0.5:
        return -t_quantile(1 - share, df)
    t = NORMAL.inv_cdf(share)
    if df >= MANY:
        return _expanded(t, df)
    for _ in range(100):  # Newton from below: the distribution is concave there
        step = (share - t_chance(t, df)) / _density(t, df)
        t += step
        if abs(step) <= 1e-12 * max(1.0, t):
            break
    return t


def _expanded(z: float, df: float) -> float:
    """The quantile of t by that of the normal distribution (Abramowitz and Stegun 26.7.5)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / df + second / df**2 + third / df**3


def noncentral_t_exceeds(t: float, df: float, shift: float) -> float:
    """Chance that noncentral t with `df` >= 5 degrees of freedom is above `t`.

    That is (Z + shift) / S for Z standard normal and S² a chi-squared over its `df` degrees of
    freedom: Z > t S - shift, summed over S (Johnson, Kotz and Balakrishnan 1995, chapter 31).
    """
    width = 12 / math.sqrt(2 * df)  # S is near to 1, with a standard deviation of a 12th of this
    least = max(1 - width, 0.0)
    step = (1 + width - least) / SLICES
    places = [least + step * (place + 0.5) for place in range(SLICES)]
    logs = [(df - 1) * math.log(s) - df * (s * s - 1) / 2 for s in places]
    weights = [math.exp(log) for log in logs]
    beyond = sum(w * NORMAL.cdf(shift - t * s) for w, s in zip(weights, places, strict=True))
    return beyond / sum(weights)


def _density(t: float, df: float) -> float:
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return math.exp(scale - (df + 1) / 2 * math.log1p(t * t / df))


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), 0 <= x <= 1 and a, b > 0 (DLMF 8.17)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log1p(-x)) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b) (DLMF 8.17.22), by Lentz's method."""
    least = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > least else least)
    found = d
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            d = 1 + part * d
            d = 1 / (d if abs(d) > least else least)
            c = 1 + part / c
            c = c if abs(c) > least else least
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found

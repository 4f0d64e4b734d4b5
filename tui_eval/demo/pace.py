"""How long an answer takes: log-normal, longer for longer answers, rarely very slow."""

from __future__ import annotations

import random


def latency(dice: random.Random, tokens: int, speed: float) -> float:
    """Seconds until the whole answer is there, 0.3 to 5 at speed 1.

    Args:
        tokens: Length of the answer.
        speed: How many times faster than believable; 0 for no waiting at all.
    """
    if speed <= 0:
        return 0.0
    if dice.random() < 0.01:
        return dice.uniform(2.5, 5.0) / speed
    seconds = dice.lognormvariate(-0.7, 0.35) + 0.01 * tokens
    return min(max(seconds, 0.3), 2.5) / speed

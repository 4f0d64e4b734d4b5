"""The numbers that a limit goes through when people raise and lower it."""

from __future__ import annotations

from itertools import count, takewhile


def next_limit(now: int, by: int) -> int:
    """The next number of rollouts in flight: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 and so on.

    Args:
        now: At least 1.
        by: 1 for the next greater one, -1 for the next smaller one, which is 1 at least.
    """
    steps = sorted({n for power in count_up_to(now) for n in (power, power * 3 // 2)})
    if by > 0:
        return next(step for step in steps if step > now)
    return max((step for step in steps if step < now), default=1)


def count_up_to(now: int) -> list[int]:
    """Powers of two, one of them greater than a number."""
    below = list(takewhile(lambda power: power <= now, (1 << n for n in count())))
    return [*below, 1 << len(below)]

"""What a number of examples can show, and how many it takes."""

from __future__ import annotations

import math
from collections.abc import Callable

from tui_eval.stats.student_t import t_quantile

LEVEL = 0.05
"""A chance that is not below this does not distinguish a difference from none."""
POWER = 0.8
"""How often a difference is to be found where there is one."""
MOST_EXAMPLES = 10**9
"""What takes more examples is no difference but what rounding left, or none that matters."""
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
        difference: True difference that is to be shown; its sign does not matter.
        half_width: What half the interval of so many pairs is at least; the difference is to be
            beyond it.
    """

    def is_enough(n: int) -> bool:
        least = smallest_difference(sd, n)
        beyond = half_width is None or half_width(n) <= abs(difference)
        return beyond and least is not None and least <= abs(difference)

    return least_number(is_enough, LEAST_EXAMPLES - 1)

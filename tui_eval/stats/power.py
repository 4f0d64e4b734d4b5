"""What a number of examples can show, and how many it takes."""

from __future__ import annotations

import math

from tui_eval.stats.student_t import t_quantile

LEVEL = 0.05
"""A chance that is not below this does not tell a difference from none."""
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


def examples_needed(sd: float, difference: float) -> int | None:
    """The least number of pairs whose smallest difference is this one; None beyond `MOST_EXAMPLES`.

    Args:
        sd: Standard deviation of the differences of the examples.
        difference: True difference that is to be shown; its sign does not matter.
    """
    if (smallest_difference(sd, MOST_EXAMPLES) or 0.0) > abs(difference):
        return None
    few, many = LEAST_EXAMPLES, LEAST_EXAMPLES
    while (smallest_difference(sd, many) or 0.0) > abs(difference):
        few, many = many, many * 2
    while few < many:
        middle = (few + many) // 2
        if (smallest_difference(sd, middle) or 0.0) > abs(difference):
            few = middle + 1
        else:
            many = middle
    return many

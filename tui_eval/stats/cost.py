"""Costs of tokens, and budgets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

PER = 1_000_000
"""Tokens that a price is for."""
MOST_DIGITS = 8
"""Behind the point: one token may cost no less than that."""


class Prices(NamedTuple):
    """US dollars per million tokens; None where they are not known.

    Tokens read from a cache or written to one cost what others cost where they have no price.
    """

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    cache_write: float | None = None
    listed: str = ""
    """Source of the prices, its date first, if it is no registry."""

    @property
    def known(self) -> bool:
        """Whether a cost can be computed: half a price would be a wrong one."""
        return self.input is not None and self.output is not None


def run_prices(run: Any) -> Prices:
    """Token prices of a run, from its plan or its first event."""
    return Prices(
        run.input_price,
        run.output_price,
        run.cached_input_price,
        run.cache_write_price,
        run.list_price,
    )


def cost_of(
    input_tokens: float, output_tokens: float, prices: Prices, kinds: Sequence[float] = ()
) -> float | None:
    """US dollars for tokens read and written, of which some were of `token_kinds`.

    None where a price is not known.
    """
    if prices.input is None or prices.output is None:
        return None
    cost = input_tokens * prices.input + output_tokens * prices.output
    for tokens, price in zip(kinds, (prices.cached, prices.cache_write), strict=False):
        if price is not None:
            cost += tokens * (price - prices.input)
    return cost / PER


def prices_text(prices: Prices) -> str:
    """Known prices of a million tokens of each kind."""
    reported = {
        "in": prices.input,
        "out": prices.output,
        "cached": prices.cached,
        "written to a cache": prices.cache_write,
    }
    return ", ".join(f"${price:g} {what}" for what, price in reported.items() if price is not None)


def dollars_text(dollars: float) -> str:
    """An amount in US dollars: to the cent from one dollar on, else with two digits or more."""
    if dollars >= 1 or dollars == 0:
        return f"${dollars:,.2f}"
    digits = max(4, 1 - math.floor(math.log10(dollars)))
    return f"${dollars:.{min(digits, MOST_DIGITS)}f}"


class Amount(NamedTuple):
    """Tokens, and US dollars for them; None where no price is known."""

    tokens: int
    cost: float | None


def over_budget(
    spent: Amount,
    reserved: Amount,
    requested: Amount,
    *,
    max_cost: float | None = None,
    max_total_tokens: int | None = None,
) -> str:
    """Reason why a call exceeds the budget, as a sentence; empty where it does not.

    Args:
        spent: Used tokens and cost.
        reserved: The most that calls in flight may still use, without prompts.
        requested: The most that the call may use.
        max_cost: US dollars at most; None for no limit.
        max_total_tokens: Tokens at most; None for no limit.
    """
    if over := budget_spent(*spent, max_cost=max_cost, max_total_tokens=max_total_tokens):
        return over
    if max_total_tokens is not None:
        held = spent.tokens + reserved.tokens
        if held >= max_total_tokens or held + requested.tokens > max_total_tokens:
            return (
                f"{spent.tokens:,} tokens are used and an answer may have {requested.tokens:,}, "
                f"the limit is {max_total_tokens:,}"
            )
    if max_cost is not None and spent.cost is not None:
        dollars = spent.cost + (reserved.cost or 0.0)
        if dollars >= max_cost or dollars + (requested.cost or 0.0) > max_cost:
            return (
                f"{dollars_text(spent.cost)} is spent and an answer may cost "
                f"{dollars_text(requested.cost or 0.0)}, the limit is {dollars_text(max_cost)}"
            )
    return ""


def budget_spent(
    tokens: int,
    cost: float | None,
    *,
    max_cost: float | None = None,
    max_total_tokens: int | None = None,
) -> str:
    """The reached limit, as a sentence; empty while there is something left.

    A cost that is not known reaches none.
    """
    if max_total_tokens is not None and tokens >= max_total_tokens:
        return f"{tokens:,} tokens are used, the limit is {max_total_tokens:,}"
    if max_cost is not None and cost is not None and cost >= max_cost:
        return f"{dollars_text(cost)} is spent, the limit is {dollars_text(max_cost)}"
    return ""

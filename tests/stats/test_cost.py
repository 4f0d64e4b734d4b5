"""What tokens cost, and when a budget is spent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.cost import Prices, budget_spent, cost_of


def test_a_cost_is_of_a_million_tokens_each_way() -> None:
    assert cost_of(2_000_000, 500_000, Prices(0.4, 1.6)) == pytest.approx(1.6)
    assert cost_of(0, 0, Prices(0.4, 1.6)) == 0.0
    assert cost_of(10, 10, Prices(0.0, 0.0)) == 0.0, "a free endpoint is known to cost nothing"


@pytest.mark.parametrize("prices", [Prices(), Prices(1.0, None), Prices(None, 1.0)])
def test_a_price_that_is_not_known_gives_no_cost(prices: Prices) -> None:
    assert cost_of(10, 10, prices) is None
    assert not prices.known


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({}, ""),
        ({"max_cost": 1.7}, ""),
        ({"max_cost": 1.6}, "$1.60 is spent, the limit is $1.60"),
        ({"max_total_tokens": 2_500_001}, ""),
        ({"max_total_tokens": 2_500_000}, "2,500,000 tokens are used, the limit is 2,500,000"),
        ({"max_cost": 0.0}, "$1.60 is spent, the limit is $0.00"),
    ],
)
def test_a_budget_is_spent_once_its_limit_is_reached(limits: dict[str, Any], said: str) -> None:
    assert budget_spent(2_500_000, 1.6, **limits) == said


def test_without_prices_only_tokens_can_be_limited() -> None:
    assert budget_spent(18, None, max_cost=0.0) == ""
    assert budget_spent(18, None, max_cost=0.0, max_total_tokens=18)


TOKENS = st.integers(0, 10**9)
PRICE = st.floats(0, 1000)


@given(st.lists(TOKENS, min_size=4, max_size=4), st.lists(PRICE, min_size=4, max_size=4))
def test_a_cost_is_that_of_each_kind_at_its_price(tokens: list[int], prices: list[float]) -> None:
    plain, cached, written, out = tokens
    reported = Prices(prices[0], prices[3], prices[1], prices[2])
    cost = cost_of(plain + cached + written, out, reported, (cached, written, 0, 0, 0))
    expected = sum(count * price for count, price in zip(tokens, prices, strict=True)) / 1e6
    assert cost == pytest.approx(expected, abs=1e-6)


@given(TOKENS, TOKENS, PRICE, PRICE, st.lists(TOKENS, max_size=5))
def test_kinds_without_a_price_cost_what_others_do(
    read: int, written: int, price: float, out: float, kinds: list[int]
) -> None:
    assert cost_of(read, written, Prices(price, out), kinds) == cost_of(
        read, written, Prices(price, out)
    )

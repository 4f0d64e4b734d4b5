"""What tokens cost, and when a budget is spent."""

from __future__ import annotations

from typing import Any

import pytest

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

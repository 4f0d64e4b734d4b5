"""Prices of models that no registry has: those that the provider lists, at its own host only."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest

from tui_eval.config.list_prices import DATES, LIBRARY, list_price, may_be_listed, take_list_prices
from tui_eval.config.plan import PlannedEndpoint, RunPlan

OPENAI = "https://api.openai.com/v1"


def plan(url: str = OPENAI, model: str = "gpt-4o", **values: Any) -> RunPlan:
    endpoints = [PlannedEndpoint(url=url)]
    return RunPlan(env_id="e", alias="a", model=model, base_url=url, endpoints=endpoints, **values)


def test_the_date_of_the_prices_that_are_installed_is_known() -> None:
    assert version(LIBRARY) in DATES, "write into DATES when this version was published"


def test_a_provider_lists_prices_of_its_models_with_a_date() -> None:
    found = list_price("gpt-4o", [OPENAI])
    assert found is not None
    assert (found.input, found.output, found.cached) == (2.5, 10.0, 1.25)
    assert found.source == f"{DATES[version(LIBRARY)]}, {LIBRARY} {version(LIBRARY)}"


def test_written_caches_have_prices_and_tiers_are_reported() -> None:
    found = list_price("claude-sonnet-4-5-20250929", ["https://api.anthropic.com"])
    assert found is not None
    assert (found.input, found.cached, found.cache_write) == (3.0, 0.3, 3.75)
    assert found.up_to == 200_000
    assert "up to 200,000 tokens; longer ones cost more" in found.source


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "https://localhost/v1",
        "https://10.0.0.7/v1",
        "https://gpu7/v1",
        "https://box.local/v1",
        "https://[::1]:8000/v1",
        "http://api.openai.com/v1",
        "embedded:demo",
    ],
)
def test_servers_of_ones_own_have_no_list_price(url: str) -> None:
    assert not may_be_listed(url)
    assert list_price("gpt-4o", [url]) is None


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("https://api.openai.com.example.org/v1", "gpt-4o"),
        ("https://gateway.example.org/v1", "gpt-4o"),
        (OPENAI, "a-model-that-nobody-lists"),
    ],
)
def test_hosts_of_others_and_unknown_models_have_none(url: str, model: str) -> None:
    assert list_price(model, [url]) is None


def test_replicas_have_one_only_if_it_is_the_same_at_all() -> None:
    assert list_price("gpt-4o", [OPENAI, OPENAI]) is not None
    assert list_price("gpt-4o", [OPENAI, "https://gateway.example.org/v1"]) is None
    assert list_price("gpt-4o", []) is None


def test_a_plan_without_prices_takes_the_listed_ones() -> None:
    one = plan(max_cost=1.0)
    assert take_list_prices(one) == []
    assert (one.input_price, one.output_price, one.cached_input_price) == (2.5, 10.0, 1.25)
    assert one.list_price.startswith(DATES[version(LIBRARY)])


def test_prices_of_the_registry_stay() -> None:
    one = plan(input_price=0.0, output_price=0.0, max_cost=1.0)
    assert take_list_prices(one) == []
    assert (one.input_price, one.cached_input_price, one.list_price) == (0.0, None, "")


@pytest.mark.parametrize("half", [{}, {"input_price": 1.0}])
def test_a_limit_of_cost_says_that_it_is_blind_where_nobody_knows_a_price(
    half: dict[str, Any],
) -> None:
    assert take_list_prices(plan("http://127.0.0.1:1/v1", **half)) == []
    (notice,) = take_list_prices(plan("http://127.0.0.1:1/v1", max_cost=1.0, **half))
    assert notice.level == "warning"
    assert notice.text.startswith("--max-cost is blind: nobody knows the prices of a.")

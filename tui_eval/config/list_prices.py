"""List prices of a model at its provider, for plans whose registry has none.

The prices come from `genai-prices`, a library of data: no host is called. It takes a second to
load, so only an engine loads it, and only for an endpoint that can be a provider's own. A gateway
or a server of one's own may serve a model by a known name at any price, so a price is taken only
where the host is the one that the library has for the provider.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from tui_eval.config.plan import RunPlan
from tui_eval.errors import Notice, warning

LIBRARY = "genai-prices"
DATES = {"0.2.3": "2026-11-10"}
"""Dates of the prices of each version: the library does not say them."""


class ListPrice(msgspec.Struct, frozen=True):
    """US dollars per million tokens; None for what costs what other tokens do.

    Args:
        source: Its source, the date first.
        up_to: Tokens read in one call beyond which more is charged; 0 for none.
    """

    input: float
    output: float
    cached: float | None
    cache_write: float | None
    source: str
    up_to: int = 0


def take_list_prices(plan: RunPlan) -> list[Notice]:
    """Writes the listed prices into a plan that has none; says where a limit of cost is blind."""
    if plan.input_price is None and plan.output_price is None:
        urls = [one.url for one in plan.served_at]
        found = list_price(plan.model, urls)
        if found is not None:
            plan.input_price, plan.output_price = found.input, found.output
            plan.cached_input_price, plan.cache_write_price = found.cached, found.cache_write
            plan.list_price = found.source
    if plan.max_cost is None or None not in (plan.input_price, plan.output_price):
        return []
    return [warning(blind_text([plan.alias]))]


def blind_text(aliases: Iterable[str]) -> str:
    """Warning that a limit of cost stops nothing, and what to do about it."""
    names = ", ".join(dict.fromkeys(aliases))
    return (
        f"--max-cost is blind: nobody knows the prices of {names}. Write input_price and "
        "output_price into its [[endpoint]] table, or say --max-total-tokens"
    )


def list_price(model: str, urls: Iterable[str]) -> ListPrice | None:
    """The listed price of a model at these endpoints; None where they differ or one has none."""
    found = [_listed(model, url) if may_be_listed(url) else None for url in urls]
    return found[0] if found and all(one == found[0] for one in found) else None


def may_be_listed(url: str) -> bool:
    """Whether a URL can be a provider's own: none of this machine or of a network around it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" or "." not in host or host.endswith((".local", ".localhost")):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def _listed(model: str, url: str) -> ListPrice | None:
    from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    try:
        provider = snapshot.find_provider(None, None, url)
        if not _is_host_of(provider.api_pattern, url):
            return None
        _, info = snapshot.find_provider_model(model, provider, None, None)
    except LookupError:
        return None
    prices = info.get_prices(datetime.now(UTC))
    read, written = _base(prices.input_mtok), _base(prices.output_mtok)
    if read is None or written is None:
        return None
    cached, cache_write = _base(prices.cache_read_mtok), _base(prices.cache_write_mtok)
    known = version(LIBRARY)
    date = f"{DATES[known]}, " if known in DATES else ""
    price = ListPrice(read, written, cached, cache_write, f"{date}{LIBRARY} {known}")
    tiers = [getattr(one, "tiers", None) for one in (prices.input_mtok, prices.output_mtok)]
    starts = [tier.start for some in tiers for tier in some or ()]
    if not starts:
        return price
    note = f", for calls that read up to {min(starts):,} tokens; longer ones cost more"
    return replace(price, source=price.source + note, up_to=min(starts))


def _is_host_of(pattern: str, url: str) -> bool:
    """Whether a provider's pattern ends where the host of a URL does, or behind it.

    Patterns are those of beginnings, also of the hosts of others: `https://api.openai.com.me`.
    """
    found = re.match(pattern, url)
    if found is None:
        return False
    end = found.end()
    return pattern.endswith("\\.") or url[end - 1] in "/" or url[end : end + 1] in ("", "/", ":")


def _base(price: Any) -> float | None:
    """Price from the first token on, where it may rise with their number."""
    base = getattr(price, "base", price)
    return None if base is None else float(base)

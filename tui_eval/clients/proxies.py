"""Proxies that the environment names for URLs; this machine is always reached directly."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from urllib.request import getproxies

import msgspec
from yarl import URL

LOOPBACK = ("localhost", "127.0.0.0/8", "::1")
"""Further entries of `NO_PROXY`, in its own words."""


class ProxyFound(msgspec.Struct, frozen=True):
    """A proxy, and the variable that names it; its text has no password."""

    url: URL
    variable: str

    def __str__(self) -> str:
        shown = self.url.with_user(None) if self.url.user else self.url
        of = f" of {self.variable}" if self.variable else ""
        return f"the proxy {str(shown).rstrip('/')}{of}"


def proxy_of(url: URL) -> URL | None:
    """The proxy for a URL, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    Returns:
        None where the connection is direct.
    """
    found = proxy_found(url)
    return None if found is None else found.url


def proxy_found(url: URL | str) -> ProxyFound | None:
    """The same with the variable that names it; empty where the system's settings do."""
    url = URL(url) if isinstance(url, str) else url
    named = getproxies()
    key = url.scheme if named.get(url.scheme) else "all"
    proxy = named.get(key)
    rules = (*named.get("no", "").split(","), *LOOPBACK)
    if not proxy or any(_names(rule.strip(), url) for rule in rules):
        return None
    names = (f"{key}_proxy", f"{key.upper()}_PROXY")
    variable = next((name for name in names if os.environ.get(name)), "")
    return ProxyFound(URL(proxy if "://" in proxy else f"http://{proxy}"), variable)


def spare_loopback() -> None:
    """Has everything of this process, and what it starts, reach this machine itself directly.

    For the http libraries that people's code uses: each reads `NO_PROXY` for itself.
    """
    if not any(name in getproxies() for name in ("http", "https", "all")):
        return
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if given.strip() == "*":
        return
    rules = [rule for rule in given.split(",") if rule.strip()]
    rules += [rule for rule in ("localhost", "127.0.0.1", "::1") if rule not in rules]
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(rules)


def _names(rule: str, url: URL) -> bool:
    """Whether an entry of `NO_PROXY` means a URL: `*`, a name and all below it, a network."""
    host = url.host or ""
    try:
        return ip_address(host) in ip_network(rule.strip("[]"), strict=False)
    except ValueError:
        pass
    name, _, port = rule.lower().partition(":")
    if name == "*" or not name or port not in ("", str(url.port)):
        return name == "*"
    name = name.lstrip("*.")
    return host == name or host.endswith(f".{name}")

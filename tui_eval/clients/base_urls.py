"""Base URLs as people write them: with `/v1`, without, or with the whole path of a request.

All three mean the same. Whether a server has its routes below `/v1` cannot be seen from a URL that
does not say so: the likelier place is tried first, and the other where that has no such route.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

VERSION = "/v1"
ROUTES = ("/chat/completions", "/completions", "/responses", "/messages", "/models")
"""Paths behind a base URL; the longer one of two first."""
PLAIN_QUERIES = frozenset(("api-version",))
"""Names of query parameters that hold no secret: Azure's."""
_NO_ROUTE = (404, 405)
_ABOUT_MODELS = re.compile(r"\bmodels?\b|deployment", re.IGNORECASE)


class BaseUrl(msgspec.Struct, frozen=True):
    """Places of an endpoint's routes.

    Args:
        places: URLs without a slash at their end, the likeliest first.
        query: Goes with every request, without a `?`.
    """

    places: tuple[str, ...]
    query: str = ""

    def with_query(self, url: str) -> str:
        """A URL below one of the places as it is requested."""
        return f"{url}?{self.query}" if self.query else url

    @property
    def parameters(self) -> dict[str, str]:
        """The query by its names."""
        return dict(parse_qsl(self.query))


def read_base_url(typed: str) -> BaseUrl:
    """A base URL as it was typed.

    Without any path the routes are below `/v1`, or else at the root; with one they are behind that
    path, or else with a `/v1` more or less.
    """
    parts = urlsplit(typed)
    root = f"{parts.scheme}://{parts.netloc}"
    path = _without_route(parts.path.rstrip("/"))
    if not path:
        places = (root + VERSION, root)
    elif path.endswith(VERSION):
        places = (root + path, root + path.removesuffix(VERSION))
    else:
        places = (root + path, root + path + VERSION)
    return BaseUrl(places, parts.query)


def _without_route(path: str) -> str:
    for route in ROUTES:
        if path.endswith(route):
            return path.removesuffix(route).rstrip("/")
    return path


@lru_cache(maxsize=256)
def shown_url(typed: str) -> str:
    """A base URL for people: without user, password and query, which may be secrets."""
    parts = urlsplit(typed)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def read_anthropic_url(typed: str) -> BaseUrl:
    """A base URL of Anthropic's protocol, whose routes bring their `/v1` along."""
    known = read_base_url(typed)
    shortest = min(known.places, key=len)
    return BaseUrl((shortest,), known.query)


def has_only_plain_query(url: str) -> bool:
    """Whether a URL has no fragment, and no query that may hold a secret."""
    parts = urlsplit(url)
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    return "#" not in url and names <= PLAIN_QUERIES and bool(names) == ("?" in url)


def is_missing_route(error: Any, model: str) -> bool:
    """Whether an answer says that there is no such route; others of its status miss a model."""
    if getattr(error, "status_code", None) not in _NO_ROUTE:
        return False
    text = f"{error} {getattr(error, 'body', '')}"
    names_it = re.search(rf"(?<!\w){re.escape(model)}(?!\w)", text)
    return not names_it and not _ABOUT_MODELS.search(text)

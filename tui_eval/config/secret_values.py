"""Secrets among settings, known by name or shape, and hidden where they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "***"
"""Stands for a secret in run.toml and wherever settings are shown."""

_SECRET = re.compile(
    r"(?:^|[_-])(?:api[_-]?keys?|key|token|secrets?|passwords?|passwd|credentials?|authorization"
    r"|cookie)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Starts of words in a name without underscores."""

_PLAIN_KEY = re.compile(r"(?<!api)(?<!secret)(?<!access)(?<!private)[_-]key$", re.IGNORECASE)
_COLUMN = re.compile(r"[A-Za-z]+(?:[_ ][A-Za-z]+)*")
_LIKE_A_KEY = re.compile(r"(?=.*\d)\S{16,}")
_TOKEN = re.compile(r"(?=.*\d).{8,}|[^-_.]{16,}")
"""A part of a path that looks like a token rather than like a name."""

LONG = 16
"""Shorter tokens of a path are not looked for elsewhere: they may be words or dates."""


def is_secret(name: str, value: Any) -> bool:
    """Whether a value is a secret by its name: no switch, and no column that `answer_key` names."""
    name = _CAMEL.sub("_", name)
    if not value or value is True or not _SECRET.search(name):
        return False
    names_column = isinstance(value, str) and _COLUMN.fullmatch(value)
    return not (names_column and _PLAIN_KEY.search(name))


def masked(value: Any) -> Any:
    """The same value, with what its name says is a secret hidden."""
    if isinstance(value, dict):
        return {
            key: HIDDEN
            if is_secret(key, item)
            else dict.fromkeys(item, HIDDEN)
            if key == "extra_headers" and isinstance(item, dict)
            else masked(item)
            for key, item in value.items()
        }
    return [masked(item) for item in value] if isinstance(value, list) else value


def masked_url(url: str) -> str:
    """The same URL without user, password, tokens in its path and the values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{HIDDEN}@{host}" if "@" in parts.netloc else host
    query = "&".join(
        f"{name}={HIDDEN}" if is_pair else HIDDEN
        for name, is_pair, _ in (one.partition("=") for one in parts.query.split("&") if one)
    )
    path = "/".join(HIDDEN if _TOKEN.fullmatch(one) else one for one in parts.path.split("/"))
    return urlunsplit(parts._replace(netloc=netloc, path=path, query=query, fragment=""))


def secret_texts(value: Any) -> Iterator[str]:
    """The texts that `masked` hides and that look like keys: others may stand anywhere."""
    if isinstance(value, dict):
        for key, item in value.items():
            hides = is_secret(key, item) or key == "extra_headers"
            yield from _texts(item) if hides else secret_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from secret_texts(item)


def secrets_of_url(url: str) -> Iterator[str]:
    """The texts that `masked_url` hides and that look like keys."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield from (text for text in (parts.username, parts.password) if text)
    for one in parts.path.split("/"):
        if len(one) >= LONG and _TOKEN.fullmatch(one):
            yield one
    for one in parts.query.split("&"):
        yield from _texts(one.partition("=")[2])


def hidden_names(value: Any, before: str) -> Iterator[str]:
    """Places of HIDDEN in a value that is called `before`, as dotted names."""
    if value == HIDDEN:
        yield before
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from hidden_names(item, f"{before}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from hidden_names(item, before)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _LIKE_A_KEY.fullmatch(value):
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)

"""Cleans pasted keys and URLs: white space, quotes, characters without width."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AROUND = " \t\r\n\v\f\x00\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2060\ufeff"
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"

log = logging.getLogger(__name__)
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)
_cleaned: set[str] = set()


def unwrapped(text: str, what: str) -> str:
    """The text without white space and quotes around it; that there were some is logged.

    Args:
        what: What the text is, for the sentence.
    """
    bare = text.strip(_AROUND + _QUOTES)
    if bare != text and bare:
        collect(what)
        return bare
    return text


def collect(what: str) -> None:
    """Notes that a text was cleaned: for `collected`, or else in the log."""
    notice = f"White space, quotes or invisible characters around {what} were left out"
    reported = _COLLECTED.get()
    if reported is None:
        log.warning("%s", notice)
    elif notice not in reported:
        reported.append(notice)


def clean_variable(name: str) -> str:
    """The value of an environment variable that holds a key; it is cleaned in its place.

    So that who reads it later, to send it or to hide it, reads the same.

    Returns:
        Empty where it is not set.
    """
    value = os.environ.get(name, "")
    if not value:
        return ""
    bare = value.strip(_AROUND + _QUOTES)
    if bare != value:
        os.environ[name] = bare
        _cleaned.add(name)
        collect(f"the key in {name}")
    elif name in _cleaned and _COLLECTED.get() is not None:
        collect(f"the key in {name}")
    return bare


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collects what is reported inside."""
    reported: list[str] = []
    token = _COLLECTED.set(reported)
    try:
        yield reported
    finally:
        _COLLECTED.reset(token)

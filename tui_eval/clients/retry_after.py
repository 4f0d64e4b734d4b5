"""The wait that an endpoint requests, in the spellings that endpoints use."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

LONGEST_WAIT = 600.0
"""Seconds; a longer wait ends with another try after so many."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AMOUNT = r"\d{1,9}(?:\.\d{1,9})?"
_DURATION = re.compile(rf"(?:{_AMOUNT}(?:ms|h|m|s))+", re.ASCII)
_PARTS = re.compile(rf"({_AMOUNT})(ms|h|m|s)", re.ASCII)
_IN_WORDS = re.compile(
    r"\b(?:try again|retry|retrying|wait)\b[^.\d]{0,24}?"
    rf"((?:{_AMOUNT}\s*(?:ms|milliseconds?|hours?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])\s*)+)",
    re.ASCII | re.IGNORECASE,
)
_IN_WORDS_PARTS = re.compile(rf"({_AMOUNT})\s*(ms|milli|h|m|s)", re.ASCII | re.IGNORECASE)
_DELAY_IN_TEXT = re.compile(rf"retryDelay\W{{1,8}}({_AMOUNT}s)", re.ASCII)
_RESETS = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:(.+)-)?reset(?:-(.+))?")
_RETRY_AFTER = ("retry-after", "retry-after-seconds")
_EPOCH_S, _EPOCH_MS = 1e9, 1e12
_DEEPEST = 6
LONGEST_TEXT = 10_000


def requested_wait(headers: Mapping[str, str], body: Any = None) -> float | None:
    """Seconds of wait that a refusal requests, at most ten minutes; None where it names no time.

    Looked for in `retry-after-ms`; `retry-after` as seconds, a duration or a date, and what is
    called so in the body; Google's `retryDelay`; words like "try again in 6m0s"; and headers that
    say when a limit is reset, of limits that are used up, also where a gateway put them into the
    body. Times of zero or in the past request none.

    Args:
        headers: By names in lower case, or in any where the mapping does not mind.
        body: Of the answer: JSON that was read, or text.
    """
    for wait in _reported(headers, body):
        if wait is not None and not math.isnan(wait):
            return min(wait, LONGEST_WAIT) if wait > 0 else None
    return None


def _reported(headers: Mapping[str, str], body: Any) -> Iterator[float | None]:
    yield from _retry_after(headers)
    reported = list(_texts(body))
    in_body = {name.lower().replace("_", "-"): text for name, text in reported}
    yield from _retry_after(in_body)
    yield from (_delay(name, text) for name, text in reported)
    yield from (_in_words(text) for _, text in reported)
    yield _reset(headers)
    yield _reset(in_body)


def _retry_after(headers: Mapping[str, str]) -> Iterator[float | None]:
    milliseconds = _number(headers.get("retry-after-ms"))
    yield None if milliseconds is None else milliseconds / 1000
    for name in _RETRY_AFTER:
        reported = headers.get(name)
        yield _until(reported or "")
        yield _until_date(reported)


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _until_date(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text or "").timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return None


def _duration(text: str) -> float | None:
    """Seconds of a text like `17s`, `0.5s`, `6m0s` or `20ms`."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PARTS.findall(text))


def _delay(name: str, text: str) -> float | None:
    """Google's `retryDelay`, also where a gateway made a text of the whole answer."""
    if name == "retryDelay":
        return _duration(text)
    found = _DELAY_IN_TEXT.search(text)
    return _duration(found[1]) if found is not None else None


def _in_words(text: str) -> float | None:
    found = _IN_WORDS.search(text)
    if found is None:
        return None
    parts = _IN_WORDS_PARTS.findall(found[1])
    return sum(float(n) * _UNITS["ms" if unit == "milli" else unit.lower()] for n, unit in parts)


def _texts(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text and number of a body, with the key that it is under."""
    if isinstance(value, str):
        yield name, value[:LONGEST_TEXT]
    elif type(value) in (int, float):
        yield name, str(value)
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, str(key), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _texts(item, name, depth + 1)


def _reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the limits that are used up are reset; the soonest reset if none says so."""
    used_up: list[float] = []
    others: list[float] = []
    for name, text in headers.items():
        found = _RESETS.fullmatch(name.lower())
        wait = _until(text) if found is not None else None
        if found is None or wait is None:
            continue
        remaining = _number(headers.get(name.lower().replace("reset", "remaining")))
        (used_up if remaining is not None and remaining <= 0 else others).append(wait)
    return max(used_up) if used_up else min(others, default=None)


def _until(text: str) -> float | None:
    """Seconds from now: of a duration, a number of seconds, a unix time or an RFC 3339 time."""
    number = _number(text)
    if number is not None:
        if number >= _EPOCH_S:
            return number / (1000 if number >= _EPOCH_MS else 1) - time.time()
        return number
    try:
        when = datetime.fromisoformat(text.strip())
        return when.timestamp() - time.time() if when.tzinfo is not None else None
    except (ValueError, OverflowError):
        return _duration(text.strip())

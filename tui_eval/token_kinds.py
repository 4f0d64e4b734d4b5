"""The kinds of tokens that have a price or a meaning of their own, counted beside all tokens.

Each is a part of the tokens read or written, so a sum over kinds is no sum of tokens. Kinds go
through events and sums as a tuple in the order of `KINDS`, empty where no answer reported any: most
endpoints say none, and an empty tuple costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, TypeAlias

KINDS = ("cached", "cache_write", "reasoning", "audio_input", "audio_output")
"""Read from a cache, written to one, spent on thoughts, audio in and out."""

WORDS = {
    "cached": "cached",
    "cache_write": "written to a cache",
    "reasoning": "of thoughts",
    "audio_input": "of sound in",
    "audio_output": "of sound out",
}
"""Labels behind a number of tokens."""

Kinds: TypeAlias = tuple[int, ...]
"""Tokens of each of the `KINDS`; empty for none of any."""
Tokens: TypeAlias = tuple[int, ...]
"""Tokens read and written, and behind them those of each kind, where there are any."""


def plus(one: Tokens, other: Tokens) -> Tokens:
    """The tokens of both."""
    if not one or not other:
        return one or other
    return tuple(a + b for a, b in zip_longest(one, other, fillvalue=0))


def minus(one: Tokens, other: Tokens) -> Tokens:
    """One count minus the other; empty where nothing is left."""
    left = tuple(a - b for a, b in zip_longest(one, other, fillvalue=0))
    return left if any(left) else ()


def most(one: Tokens, other: Tokens) -> Tokens:
    """The greater one of each count."""
    return tuple(max(a, b) for a, b in zip_longest(one, other, fillvalue=0))


def named(kinds: Kinds) -> dict[str, int]:
    """The kinds that there are, by name."""
    return {name: count for name, count in zip(KINDS, kinds, strict=False) if count}


def from_names(reported: Any) -> Kinds:
    """Kinds from their names, as `named` gives them; what is no count is left out."""
    if not isinstance(reported, Mapping):
        return ()
    counts = tuple(_count(reported.get(name)) for name in KINDS)
    return counts if any(counts) else ()


def in_words(kinds: Mapping[str, int], text: Callable[[int], str]) -> str:
    """Kinds as people read them."""
    return ", ".join(f"{text(count)} {WORDS[name]}" for name, count in kinds.items())


def _count(value: Any) -> int:
    return value if type(value) is int and 0 < value < 1 << 53 else 0

"""Nodes of a filter: plain data that prints itself in the filter's own language."""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

KEYWORDS = frozenset(("and", "or", "not"))
_BARE_WORD = re.compile(r"[^\s()\"<>=:!/][^\s()\"<>=:!]*")
_BARE_VALUE = re.compile(r"[^\s()\"<>=:!/][^\s()\"]*")


class Pattern(msgspec.Struct, frozen=True):
    """A regular expression that ignores case."""

    source: str

    def __str__(self) -> str:
        return "/" + re.sub(r"(\\.)|/", lambda m: m.group(1) or r"\/", self.source) + "/"


class Word(msgspec.Struct, frozen=True):
    """Text that the indexed row holds somewhere, in upper or lower case."""

    text: str

    def __str__(self) -> str:
        bare = _BARE_WORD.fullmatch(self.text) and self.text.casefold() not in KEYWORDS
        return self.text if bare else quoted(self.text)


class Compare(msgspec.Struct, frozen=True):
    """A field against a value."""

    field: str
    operator: str
    """`<`, `<=`, `>`, `>=`, `=`, `!=`, or `:`, which contains for text and is `=` for numbers."""
    value: float | str | Pattern | None
    """A number for fields of numbers; None where a value is missing."""

    def __str__(self) -> str:
        field = self.field if _BARE_WORD.fullmatch(self.field) else quoted(self.field)
        if self.field.casefold() in KEYWORDS:
            field = quoted(self.field)
        return f"{field}{self.operator}{_value_text(self.value)}"


class Not(msgspec.Struct, frozen=True):
    """Negation of its part."""

    part: Node

    def __str__(self) -> str:
        return f"not {_inside(self.part)}"


class All(msgspec.Struct, frozen=True):
    """Conjunction of two parts or more."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inside, self.parts))


class Either(msgspec.Struct, frozen=True):
    """Disjunction of two parts or more."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " or ".join(
            f"({part})" if isinstance(part, Either) else str(part) for part in self.parts
        )


Node: TypeAlias = Pattern | Word | Compare | Not | All | Either


def quoted(text: str) -> str:
    """Text in quotes, as the language reads it again."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def condition(field: str, value: str) -> str:
    """The filter for the rollouts of which a field has a value, whatever that holds."""
    return f"{field}={quoted(value)}"


def _inside(part: Node) -> str:
    return f"({part})" if isinstance(part, (All, Either)) else str(part)


def _value_text(value: float | str | Pattern | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, Pattern):
        return str(value)
    bare = _BARE_VALUE.fullmatch(value) and value.casefold() != "none"
    return value if bare else quoted(value)

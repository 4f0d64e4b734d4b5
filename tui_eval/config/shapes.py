"""Shapes of JSON values for arguments of environments, and their names for people.

A shape is `text`, `int`, `float`, `flag`, `null` or `any`; or a list of a word and what it is of:
`list` and `table` of one shape, `row` of one each, `either` of several, `among` of values.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Shape: TypeAlias = "str | list[Any]"

_PLAIN: dict[str, tuple[Any, str, str, tuple[Any, ...]]] = {
    "text": (str, "a text", "texts", ("a", "b")),
    "int": (int, "a whole number", "whole numbers", (1, 2)),
    "float": ((int, float), "a number", "numbers", (0.5, 1)),
    "flag": (bool, "true or false", "true or false", (True, False)),
    "null": (type(None), "null", "null", (None,)),
    "any": (object, "anything", "anything", (1, "a")),
}
"""Types, what one and what several are called, and some to show."""


def fits(value: Any, shape: Shape) -> bool:
    """Whether a value of JSON has a shape."""
    if isinstance(shape, str):
        is_plain = shape in ("flag", "any") or not isinstance(value, bool)
        return is_plain and isinstance(value, _PLAIN[shape][0])
    kind, *of = shape
    match kind:
        case "among":
            return value in of
        case "either":
            return any(fits(value, one) for one in of)
        case "table":
            return isinstance(value, dict) and all(fits(one, of[0]) for one in value.values())
        case "row":
            return isinstance(value, list) and len(value) == len(of) and all(map(fits, value, of))
    return isinstance(value, list) and all(fits(one, of[0]) for one in value)


def expected(shape: Shape) -> str:
    """What is expected, with an example of what to type."""
    return f"{_reported(shape)}, such as {json.dumps(_examples(shape)[0], ensure_ascii=False)}"


def _reported(shape: Shape, many: bool = False) -> str:
    if isinstance(shape, str):
        _, one, several, _ = _PLAIN[shape]
        return several if many else one
    kind, *of = shape
    if kind == "among":
        return " or ".join(json.dumps(one, ensure_ascii=False) for one in of)
    if kind == "either":
        return " or ".join(_reported(one, many) for one in of)
    name = "object" if kind == "table" else "list"
    one = f"{name}s" if many else f"an {name}" if kind == "table" else f"a {name}"
    if of == ["any"]:
        return one
    inner = " and ".join(map(_reported, of)) if kind == "row" else _reported(of[0], many=True)
    return f"{one} of {inner}"


def _examples(shape: Shape) -> list[Any]:
    if isinstance(shape, str):
        return list(_PLAIN[shape][3])
    kind, *of = shape
    if kind == "among":
        return of[:1]
    if kind == "either":
        return _examples(of[0])
    if kind == "table":
        return [{"key": _examples(of[0])[0]}]
    return [[_examples(one)[0] for one in of] if kind == "row" else _examples(of[0])]

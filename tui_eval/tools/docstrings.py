"""Reads the descriptions of a function and of each parameter from its docstring."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise

_GOOGLE_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|attributes"
    r"|keyword args|keyword arguments|other parameters|see also|warnings?|references):\s*$",
    re.IGNORECASE,
)
_GOOGLE_PARAMETERS = re.compile(
    r"^(args|arguments|parameters|params|keyword args|keyword arguments|other parameters):",
    re.IGNORECASE,
)
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_RULE = re.compile(r"^-{3,}\s*$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_NUMPY_SECTION = re.compile(
    r"^(parameters|other parameters|returns|yields|receives|raises|warns|warnings|examples|notes"
    r"|see also|references|attributes|methods)\s*$",
    re.IGNORECASE,
)
_SPHINX_FIELD = re.compile(
    r"^:(param|parameter|arg|argument|key|keyword|type|returns?|rtype|yields?|raises?)"
    r"(?:\s+(?:[^:]*\s)?\*{0,2}(\w+))?\s*:\s*(.*)$"
)
_SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description in a docstring and the text of each parameter, by name.

    Sphinx, numpy and google styles are understood; the description is what is before the
    first section.
    """
    lines = inspect.cleandoc(text or "").split("\n")
    if any(_SPHINX_FIELD.match(line) for line in lines):
        return _sphinx(lines)
    if _numpy_heads(lines):
        return _numpy(lines)
    return _google(lines)


def _sphinx(lines: list[str]) -> tuple[str, dict[str, str]]:
    first = next(i for i, line in enumerate(lines) if _SPHINX_FIELD.match(line))
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[first:]:
        field = _SPHINX_FIELD.match(line)
        if field is None:
            current.append(line.strip())
            continue
        current = [field[3]]
        if field[1] in _SPHINX_PARAMETERS and field[2]:
            found[field[2]] = current
    return _text(lines[:first]), _texts(found)


def _numpy(lines: list[str]) -> tuple[str, dict[str, str]]:
    heads = _numpy_heads(lines)
    found: dict[str, list[str]] = {}
    for head, end in pairwise([*heads, len(lines)]):
        if lines[head].strip().lower() not in ("parameters", "other parameters"):
            continue
        current: list[str] = []
        for line in lines[head + 2 : end]:
            item = _NUMPY_ITEM.match(line)
            if item is None:
                current.append(line.strip())
                continue
            current = []
            for name in item[1].split(","):
                found[name.strip()] = current
    return _text(lines[: heads[0]]), _texts(found)


def _numpy_heads(lines: list[str]) -> list[int]:
    """The lines that are titles of sections, with a rule below."""
    return [
        place
        for place, (line, below) in enumerate(pairwise(lines))
        if _NUMPY_SECTION.match(line) and _NUMPY_RULE.match(below)
    ]


def _google(lines: list[str]) -> tuple[str, dict[str, str]]:
    heads = [i for i, line in enumerate(lines) if _GOOGLE_SECTION.match(line)]
    found: dict[str, list[str]] = {}
    for head, end in pairwise([*heads, len(lines)]):
        if not _GOOGLE_PARAMETERS.match(lines[head]):
            continue
        body = [line for line in lines[head + 1 : end] if line.strip()]
        margin = min((_indent(line) for line in body), default=0)
        current: list[str] = []
        for line in body:
            item = _GOOGLE_ITEM.match(line.strip()) if _indent(line) == margin else None
            if item is None:
                current.append(line.strip())
                continue
            current = found.setdefault(item[1], [item[2]])
    return _text(lines[: heads[0]] if heads else lines), _texts(found)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text(lines: list[str]) -> str:
    return "\n".join(lines).strip()


def _texts(found: dict[str, list[str]]) -> dict[str, str]:
    joined = {name: " ".join(part for part in parts if part) for name, parts in found.items()}
    return {name: text for name, text in joined.items() if text}

"""JSON as people read it: in lines, each argument of a call on its own, code as it was written."""

from __future__ import annotations

import json
from typing import Any

LONGEST_JSON = 400_000
"""Longer text is shown as it came."""
ONE_LINE_ARGUMENTS = 4000
"""Longer arguments are cut, not parsed, for the folded line."""
LONGEST_LINE = 40
"""Longer nested arguments are indented; so much fits beside other panes."""

_LANGUAGES = {
    "bash": "bash",
    "cmd": "bash",
    "code": "python",
    "command": "bash",
    "css": "css",
    "html": "html",
    "javascript": "javascript",
    "python": "python",
    "script": "python",
    "shell": "bash",
    "sql": "sql",
}
"""Languages of arguments by their names."""


def pretty_json(text: str) -> str | None:
    """An object or a list as indented JSON; None for what is none, or would lose something."""
    start = text[:64].lstrip()[:1]
    if start not in ("{", "[") or len(text) > LONGEST_JSON:
        return None
    value = _decoded(text)
    return None if value is None else json.dumps(value, ensure_ascii=False, indent=2)


def _decoded(text: str) -> Any:
    """The value of a JSON text; None where it is none, or has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def inline_arguments(arguments: str) -> str:
    """The arguments of a call on one line."""
    fields = None if len(arguments) > ONE_LINE_ARGUMENTS else _decoded(arguments)
    if not isinstance(fields, dict):
        return arguments[:ONE_LINE_ARGUMENTS]
    return ", ".join(f"{name}={_value(value)}" for name, value in fields.items())


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def arguments_shown(arguments: str) -> list[tuple[str, str]]:
    """The arguments of a call as texts with the language that each is written in.

    Each argument is on a line of its own, nested ones indented, text of several lines as it reads.
    """
    fields = _decoded(arguments)
    if not isinstance(fields, dict):
        return [(arguments, "json")]
    parts: list[tuple[str, str]] = []
    plain: list[str] = []
    for name, value in fields.items():
        if isinstance(value, str) and "\n" in value:
            parts.append(("\n".join([*plain, f"{name} ="]), "json"))
            parts.append((value, _LANGUAGES.get(name.lower(), "")))
            plain = []
        else:
            text = _value(value)
            nested = isinstance(value, (dict, list)) and len(text) > LONGEST_LINE
            shown = json.dumps(value, ensure_ascii=False, indent=2) if nested else text
            plain.append(f"{name} = {shown}")
    if plain:
        parts.append(("\n".join(plain), "json"))
    return parts or [("(no arguments)", "")]

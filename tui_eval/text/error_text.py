"""Text of an error for people: each cause on a line of its own, and nothing twice."""

from __future__ import annotations

import re

from tui_eval.text.stages import SCORING_ERROR

_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LINK = re.compile(
    rf"([\w.]+)(\((?:({_STRING})|.*?)\))?(?:\Z| -> (?=[\w.]+(?:\(| -> |\Z)))", re.DOTALL
)
"""One exception of a chain as Python writes it, up to the next one."""
_ESCAPE = re.compile(r"\\([\\'\"nt])")
_UNESCAPED = {"n": "\n", "t": "\t"}


def error_text(error: str) -> str:
    """An error and those causes that its own text does not have, as `type: message`.

    A scoring error has its message only: the heading has the name.

    Args:
        error: A chain such as "ToolCallError('it failed') -> KeyError('a')", or any text, which
            stays as it is.
    """
    links: list[str] = []
    at = 0
    while at < len(error):
        link = _LINK.match(error, at)
        text, at = (error[at:], len(error)) if link is None else (_raised(link, links), link.end())
        if text:
            links.append(f"caused by {text}" if links else text)
    return "\n".join(links)


def _raised(link: re.Match[str], before: list[str]) -> str:
    """A link in words; empty where earlier text has them."""
    kind, arguments, literal = link.groups()
    if arguments and arguments != "()" and literal is None:
        return kind + arguments
    message = _ESCAPE.sub(lambda one: _UNESCAPED.get(one[1], one[1]), (literal or "")[1:-1])
    if kind == SCORING_ERROR and link.start() == 0:
        return message
    whole = f"{kind}: {message}" if message else kind
    ways = (whole, f"{kind}: {literal}") if message else (whole,)
    known = re.compile("|".join(rf"(?<!\w){re.escape(way)}(?!\w)" for way in ways))
    return "" if any(known.search(text) for text in before) else whole

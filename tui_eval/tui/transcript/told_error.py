"""An error as people read it: each cause on a line of its own, and nothing said twice."""

from __future__ import annotations

import re

from tui_eval.tui.look.stages import error_word

_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LINK = re.compile(
    rf"([\w.]+)(\((?:({_STRING})|.*?)\))?(?:\Z| -> (?=[\w.]+(?:\(| -> |\Z)))", re.DOTALL
)
"""One exception of a chain as Python writes it, up to the next one."""
_ESCAPE = re.compile(r"\\([\\'\"nt])")
_UNESCAPED = {"n": "\n", "t": "\t"}


def told_error(error: str) -> str:
    """An error and its causes as `type: message`, of which the first one is said in full.

    Args:
        error: A chain such as "ToolCallError('it failed') -> KeyError('a')", or any text, which
            stays as it is.
    """
    told: list[str] = []
    at = 0
    while at < len(error):
        link = _LINK.match(error, at)
        text, at = (error[at:], len(error)) if link is None else (_said(link, told), link.end())
        told.append(f"caused by {text}" if told else text)
    return "\n".join(told)


def _said(link: re.Match[str], before: list[str]) -> str:
    kind, arguments, literal = link.groups()
    name = kind if before else error_word(kind)
    if arguments and arguments != "()" and literal is None:
        return name + arguments
    message = _ESCAPE.sub(lambda one: _UNESCAPED.get(one[1], one[1]), (literal or "")[1:-1])
    whole = f"{name}: {message}"
    return name if not message or any(whole in text for text in before) else whole

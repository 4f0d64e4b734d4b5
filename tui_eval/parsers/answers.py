"""Taking the final answer out of a text: `\\boxed{...}` of LaTeX, `####` of GSM8K."""

from __future__ import annotations

import re

_BOX = "\\boxed{"
_HASHES = "####"
_BRACE = re.compile("[{}]")


def extract_boxed_answer(text: str, strict: bool = False) -> str:
    r"""The content of the last `\boxed{...}` of a text, unchanged.

    Braces inside count in pairs, escaped ones as well.

    Args:
        strict: The result where there is no box, or the last one is never closed: the text
            itself, as it is, or "" if strict.
    """
    start = text.rfind(_BOX)
    end = _closing_brace(text, start + len(_BOX)) if start >= 0 else -1
    if end < 0:
        return "" if strict else text
    return text[start + len(_BOX) : end]


def extract_hash_answer(text: str) -> str:
    """The text after the first `####` up to the next, without surrounding space.

    Returns:
        The text itself, as it is, where there is none.
    """
    parts = text.split(_HASHES, 2)
    return parts[1].strip() if len(parts) > 1 else text


def _closing_brace(text: str, place: int) -> int:
    """The place of the closing brace of one opened before `place`; -1 for none."""
    depth = 1
    for brace in _BRACE.finditer(text, place):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return -1

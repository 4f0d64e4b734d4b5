"""Finds what somebody typed in long texts, in a process that is ended when it takes too long.

Python's matcher cannot be interrupted, and holds all threads while it works.
"""

from __future__ import annotations

import marshal
import re
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from tui_eval.fold.patterns import matching_process
from tui_eval.printable import TAGS, printable

MOST = 10_000
"""Matches that are counted."""
PATIENCE_S = 2.0
LONGEST = 400
_SLICE = 1 << 16


class Match(NamedTuple):
    """Where a match is: which text, and from where to where in what can be shown of it."""

    text: int
    start: int
    end: int


class Wanted(NamedTuple):
    """What is looked for.

    Args:
        typed: As it was typed: words, or an expression between slashes.
        source: The regular expression that it amounts to; case does not matter.
        fault: Why it is none; empty where it is one.
    """

    typed: str
    source: str
    fault: str = ""


def wanted(typed: str) -> Wanted:
    """What somebody typed: `/expression/`, or words that stand beside each other."""
    typed = typed[:LONGEST]
    if not (len(typed) > 2 and typed.startswith("/") and typed.endswith("/")):
        return Wanted(typed, r"\s+".join(map(re.escape, typed.split())))
    source = typed[1:-1]
    try:
        re.compile(source)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return Wanted(typed, "", str(error))
    return Wanted(typed, source)


class TooSlowError(Exception):
    """Finding took longer than it may."""


def find(source: str, texts: Sequence[str], patience_s: float = PATIENCE_S) -> list[Match]:
    """Every match in texts that `shown_source` gave, in their order, at most `MOST`.

    Raises:
        TooSlowError: It took longer than it may.
        OSError: No process could be started; the text says so.
    """
    with matching_process(_PROGRAM) as process:
        try:
            answer, _ = process.communicate(
                marshal.dumps((source, MOST, list(texts))), timeout=patience_s
            )
        except subprocess.TimeoutExpired:
            process.kill()
            raise TooSlowError from None
    if process.returncode != 0:
        raise TooSlowError
    return [Match(*found) for found in marshal.loads(answer)]


def shown_source(text: str) -> str:
    """All of a text as it can be shown; in slices, so that other threads get their turn."""
    text = text.strip("\r\n")
    if len(text) <= _SLICE:
        return printable(text)
    parts, start = [], 0
    while start < len(text):
        line_end = text.find("\n", start + _SLICE)
        line_end = len(text) if line_end < 0 else line_end
        is_cut = line_end > start + 2 * _SLICE and text.find("\t", start, line_end) < 0
        end = start + _SLICE if is_cut else line_end
        # Signs that are shown as one stay together; so do lines with tabs, which count columns.
        while end < len(text) and (text[end - 1] == "\r" or text[end] in TAGS):
            end += 1
        parts.append(printable(text[start:end]))
        start = end
    return "".join(parts)


_PROGRAM = """
import marshal, re, sys
source, most, texts = marshal.load(sys.stdin.buffer)
search = re.compile(source, re.IGNORECASE | re.MULTILINE)
found = []
for at, text in enumerate(texts):
    for match in search.finditer(text):
        if match.end() > match.start():
            found.append((at, match.start(), match.end()))
            if len(found) == most:
                break
    if len(found) == most:
        break
sys.stdout.buffer.write(marshal.dumps(found))
"""

"""Saying what went wrong in an author's code, and on which line of it."""

from __future__ import annotations

import traceback
from pathlib import Path

from tui_eval import cuts
from tui_eval.fold.error_place import is_peoples

LONGEST_MESSAGE = 2000
"""Characters of an exception's message at most."""


def describe(error: BaseException, folder: Path | None = None) -> str:
    """An exception in one line: type, message, and file and line of the author's own frame.

    Args:
        folder: Folder of the author's code; without it, what is neither ours nor Python's counts.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    message = message_of(error)
    kept = cuts.head(message, LONGEST_MESSAGE)
    if left_out := len(message) - len(kept):
        message = f"{kept}... {left_out:,} more characters"
    text = f"{type(error).__name__}: {message}".rstrip(": ")
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_authors(frame.filename, folder):
            return f"{text} ({frame.filename}:{frame.lineno})"
    return text


def message_of(error: BaseException) -> str:
    """The text of an exception, or a note that its class raises instead."""
    try:
        return str(error)
    except Exception as other:  # its class is people's code
        return f"its message raised {type(other).__name__}"


def _is_authors(filename: str, folder: Path | None) -> bool:
    if filename.startswith("<"):
        return False
    if folder is not None:
        return Path(filename).is_relative_to(folder)
    return is_peoples(filename, "")

"""Saying what went wrong in an author's code, and on which line of it."""

from __future__ import annotations

import traceback
from pathlib import Path

from tui_eval.errors import is_ours


def describe(error: BaseException, folder: Path | None = None) -> str:
    """An exception in one line: type, message, and file and line of the author's own frame.

    Args:
        folder: Where the author's code is; without it, what is neither ours nor Python's counts.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    text = f"{type(error).__name__}: {_message(error)}".rstrip(": ")
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_authors(frame.filename, folder):
            return f"{text} ({frame.filename}:{frame.lineno})"
    return text


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as other:  # its class is people's code
        return f"its message raised {type(other).__name__}"


def _is_authors(filename: str, folder: Path | None) -> bool:
    if filename.startswith("<"):
        return False
    path = Path(filename)
    if folder is not None:
        return path.is_relative_to(folder)
    return not is_ours(filename) and "site-packages" not in path.parts

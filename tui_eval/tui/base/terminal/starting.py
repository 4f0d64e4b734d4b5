"""A line on the terminal while the screen is loaded.

Without byte code (a fresh `uv` environment, a read-only installation) loading takes three times as
long as with it, and a terminal on which nothing happens for a second looks broken.
"""

from __future__ import annotations

import atexit
import contextlib
import sys

LINE = "tui-eval is starting ..."
ERASED = "\r\x1b[K"

_is_shown = False
_was_shown = False


def show_starting() -> None:
    """Shows the line where the screen will be drawn, once a process."""
    global _is_shown, _was_shown
    file = sys.__stderr__
    if _was_shown or file is None or not file.isatty():
        return
    _was_shown = _is_shown = True
    _write(LINE)
    atexit.register(erase_start)


def erased_start() -> str:
    """Output that erases the line; empty where it is not shown."""
    global _is_shown
    was_shown, _is_shown = _is_shown, False
    return ERASED if was_shown else ""


def erase_start() -> None:
    """Erases the line where it is still shown."""
    _write(erased_start())


def _write(text: str) -> None:
    if text and sys.__stderr__ is not None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
            print(text, end="", file=sys.__stderr__, flush=True)

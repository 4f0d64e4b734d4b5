"""Whether a screen is drawn for a browser, and what it has to say there."""

from __future__ import annotations

import functools
import os

DRIVER = "tui_eval.tui.base.terminal.web_driver:WebDriver"
"""What `tui-eval serve` puts into `TEXTUAL_DRIVER` of the processes that it starts."""

SHOWS = "shows"
"""The kind of packet by which a screen tells the server what it shows."""


def lies_in(path: str) -> str:
    """Where people are told that a file lies: in a browser it is not on their own machine."""
    return f"on the server in {path}" if in_browser() else f"in {path}"


@functools.cache
def in_browser() -> bool:
    """Whether `tui-eval serve` started this process to show it in a browser."""
    return os.environ.get("TEXTUAL_DRIVER") == DRIVER

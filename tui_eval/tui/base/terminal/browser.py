"""Whether a screen is drawn for a browser, and what it has to say there."""

from __future__ import annotations

import asyncio
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.runs.file_writing import plain_name

if TYPE_CHECKING:
    from textual.app import App

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


async def deliver(app: App[Any], path: Path) -> str:
    """Has the browser download a file; returns what became of that, as a part of a sentence."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError as error:
        return f"not downloaded ({error.strerror})"
    app.deliver_binary(file, save_filename=plain_name(path.name))
    return "downloaded"

"""Screens in a browser: detection, downloads, and words for paths."""

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
"""The value of `TEXTUAL_DRIVER` in processes of `tui-eval serve`."""

SHOWS = "shows"
"""The kind of packet that reports the run of a screen to the server."""


def lies_in(path: str) -> str:
    """The place of a file in words: in a browser it is on another machine."""
    return f"on the server in {path}" if in_browser() else f"in {path}"


@functools.cache
def in_browser() -> bool:
    """Whether `tui-eval serve` started this process to show it in a browser."""
    return os.environ.get("TEXTUAL_DRIVER") == DRIVER


async def deliver(app: App[Any], path: Path) -> str:
    """Has the browser download a file; returns the result as a part of a sentence."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError as error:
        return f"not downloaded ({error.strerror})"
    app.deliver_binary(file, save_filename=plain_name(path.name))
    return "downloaded"

"""The one way of copying: to the terminal's clipboard, and to a file for terminals without one."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.tui.look.paths import shown_path
from tui_eval.tui.terminal.browser import lies_in

if TYPE_CHECKING:
    from textual.app import App

MOST_BYTES = 74_000
"""What terminals take at one time; longer texts they drop, or cut without a word."""


async def copy(app: App[Any], text: str, what: str) -> str:
    """Copies a text exactly as it is; returns a sentence that says where it is now.

    Args:
        what: What it is, as a part of that sentence.
    """
    data = text.encode("utf-8", "backslashreplace")
    fits = len(data) <= MOST_BYTES
    if fits:
        app.copy_to_clipboard(data.decode())
    size = f"{len(text):,} characters" if fits else f"{len(data) / 1000:,.0f} kB"
    try:
        where = lies_in(shown_path(await asyncio.to_thread(keep, data)))
    except OSError as error:
        why = f"no file could be written: {error.strerror or error}"
        return f"Copied {what}, {size}; {why}" if fits else f"{size} are not copied; {why}"
    if fits:
        return f"Copied {what}, {size}; also {where}"
    return f"Too long for a clipboard, {size}: {what} is {where} only"


def keep(data: bytes) -> Path:
    """Writes what was copied to a file that only its owner reads, in place of the one before.

    Raises:
        OSError: It cannot be written.
    """
    from tui_eval.runs.layout import cache_root

    folder = cache_root()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=".copied-", dir=folder)  # mode 0600
    path = folder / "copied.txt"
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return path

"""Copying: to the clipboard, and to a file, as not every terminal has one."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.own_folders import shown_path
from tui_eval.tui.base.terminal.browser import in_browser, lies_in

if TYPE_CHECKING:
    from textual.app import App


PATIENCE_S = 2.0
TMUX = ("tmux", "load-buffer", "-w", "-")
"""Keeps the text to be pasted in tmux, and has tmux send it on to its own terminal."""
_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


def in_tmux() -> bool:
    """Whether the terminal is one of tmux."""
    return bool(os.environ.get("TMUX"))


def desktop_command() -> tuple[str, ...] | None:
    """The command for the clipboard of this machine; None over ssh, where it is another's."""
    if any(map(os.environ.get, _SSH)):
        return None
    commands = (
        (os.environ.get("WAYLAND_DISPLAY"), ("wl-copy",)),
        (os.environ.get("DISPLAY"), ("xclip", "-selection", "clipboard")),
        (sys.platform == "darwin", ("pbcopy",)),
    )
    there = (command for applies, command in commands if applies and shutil.which(command[0]))
    return next(there, None)


def put(command: tuple[str, ...], data: bytes) -> bool:
    """Whether a program took the data; blocks for up to two seconds.

    Some stay in the background while they own the clipboard: their output is not read.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "LC_CTYPE": "UTF-8"} if command[0] == "pbcopy" else None,
        )
    except OSError:
        return False
    try:
        process.communicate(data, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode == 0


MOST_BYTES = 74_000
"""The most bytes that terminals take: they drop longer texts, or cut them silently."""


async def copy(app: App[Any], text: str, what: str) -> str:
    """Copies a text unchanged; returns a sentence that says where `what` is now."""
    data = text.encode("utf-8", "backslashreplace")
    size = f"{len(text):,} characters" if len(data) <= MOST_BYTES else f"{len(data) / 1000:,.0f} kB"
    sent = await asyncio.to_thread(_put, data, what, size)
    if not sent and len(data) <= MOST_BYTES:
        app.copy_to_clipboard(data.decode())
        sent = f"Copied {what}, {size}"
        if not in_browser():  # a terminal answers nothing
            through = " (tmux: with set-clipboard on)" if in_tmux() else ""
            sent = f"Sent to the terminal's clipboard, if it takes it{through}: {what}, {size}"
    try:
        where = lies_in(shown_path(await asyncio.to_thread(keep, data)))
    except OSError as error:
        why = f"no file could be written: {error.strerror or error}"
        return f"{sent or f'{size} are not copied'}; {why}"
    return (
        f"{sent}; also {where}"
        if sent
        else f"Too long for a clipboard, {size}: {what} is {where} only"
    )


def _put(data: bytes, what: str, size: str) -> str:
    """A sentence once a program that confirms has the data; empty where none has."""
    if in_browser():
        return ""
    in_buffer = in_tmux() and put(TMUX, data)
    desktop = desktop_command()
    if desktop is not None and put(desktop, data):
        return f"Copied {what}, {size}"
    return f"Copied {what}, {size}, into the buffer of tmux" if in_buffer else ""


def keep(data: bytes) -> Path:
    """Writes the copy to a file that only its owner reads, replacing the last one.

    Raises:
        OSError: It cannot be written.
    """
    from tui_eval.runs.layout import cache_root

    folder = cache_root()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=".copied-", dir=folder)  # mode 0600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        return Path(name).replace(folder / "copied.txt")
    finally:
        Path(name).unlink(missing_ok=True)

"""Programs that put a text where other programs paste it from, and can say whether they did."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

PATIENCE_S = 2.0
TMUX = ("tmux", "load-buffer", "-w", "-")
"""Keeps the text to be pasted in tmux, and has tmux send it on to its own terminal."""
_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


def in_tmux(env: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal is one of tmux."""
    return bool(env.get("TMUX"))


def desktop_command(env: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """What writes the clipboard of the machine that somebody sits at; over ssh it is another's."""
    if any(map(env.get, _SSH)):
        return None
    commands = (
        (env.get("WAYLAND_DISPLAY"), ("wl-copy",)),
        (env.get("DISPLAY"), ("xclip", "-selection", "clipboard")),
        (sys.platform == "darwin", ("pbcopy",)),
    )
    there = (command for applies, command in commands if applies and shutil.which(command[0]))
    return next(there, None)


def put(command: tuple[str, ...], data: bytes) -> bool:
    """Whether a program took the data; blocks for up to two seconds.

    Some stay in the background for as long as the clipboard is theirs: nothing of it is read.
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

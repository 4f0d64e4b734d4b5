"""Place of an error in people's code, read from its traceback."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tui_eval.errors import is_ours

_FRAME = re.compile(r'^[ |]*File "([^"\n]+)", line (\d+), in (\S+)$', re.MULTILINE)
_BLOCK = "Traceback (most recent call last):"
_STANDARD = str(Path(os.__file__).parent)
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]([^/\\.]+)")


def place_of(traceback: str, env_id: str = "") -> str | None:
    """`file:line in function` of the innermost frame of people's code; None where there is none.

    Of a chain of exceptions the first cause counts. Files below the working directory are named
    from there.
    """
    for block in traceback.split(_BLOCK):
        for path, line, function in reversed(_FRAME.findall(block)):
            if is_peoples(path, env_id):
                return f"{_from_here(path)}:{line} in {function}"
    return None


def is_peoples(path: str, env_id: str) -> bool:
    """Whether a file of code is people's own: neither ours, nor Python's, nor a library's.

    Args:
        env_id: Name of the environment: an installed package of that name is people's code.
    """
    if path.startswith("<") or is_ours(path):
        return False
    if installed := _PACKAGES.search(path):
        return installed.group(1) == env_id.rpartition("/")[2].replace("-", "_")
    return not path.startswith(_STANDARD)


def _from_here(path: str) -> str:
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path

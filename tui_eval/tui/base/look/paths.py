"""Paths as people write them."""

from __future__ import annotations

import os
from pathlib import Path


def shown_path(path: Path) -> str:
    """A path with `~` for the home folder."""
    text, own = str(path), os.path.expanduser("~")  # noqa: PTH111  as below
    return "~" + text[len(own) :] if text == own or text.startswith(own + os.sep) else text


def typed_path(text: str) -> Path:
    """A path that somebody typed: `~` is a home folder, where there is such a one."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  that of pathlib raises where there is none

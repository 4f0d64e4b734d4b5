"""Finds the files that come with the program: in a checkout and in an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent  # a worker elsewhere has a link to it


@cache
def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder, such as `shipped("configs", "endpoints.toml")`."""
    installed = _PACKAGE / "_shipped"
    return (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)

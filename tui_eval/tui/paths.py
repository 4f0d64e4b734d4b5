"""Paths as people write them."""

from __future__ import annotations

import os
from pathlib import Path


def shown_path(path: Path) -> str:
    """A path with `~` for the home folder."""
    text, own = str(path), str(Path.home())
    return "~" + text[len(own) :] if text == own or text.startswith(own + os.sep) else text

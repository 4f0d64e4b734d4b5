"""Whether a terminal's ground is light: what it answers itself, else what the environment says."""

from __future__ import annotations

import os
import re

QUERY = "\x1b]11;?\x1b\\\x1b[c"
"""Asks for the colour of the ground, and for what every terminal answers: the end of the wait."""
ANSWERS_WITHIN_S = 0.1
_COLOUR = re.compile(r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)", re.IGNORECASE)
ATTRIBUTES = re.compile(r"\x1b\[\?[\d;]*c")
"""The last of the answers: nothing more is to be waited for."""
_LIGHT = 0.5
"""The brightness (0 to 1, as the eye weighs the three colours) from which a ground is light."""
_answered: bool | None = None


def read_answer(received: str) -> bool | None:
    """Whether the ground is light, by what a terminal answered; None where it did not."""
    found = _COLOUR.search(received)
    if found is None:
        return None
    red, green, blue = (int(one, 16) / int("f" * len(one), 16) for one in found.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT


def keep_answer(is_light: bool | None) -> None:
    """Keeps what the terminal of this process answered, for every app that draws on it."""
    global _answered
    _answered = is_light


def has_light_ground() -> bool | None:
    """Whether the terminal's ground is light; None where nothing says so."""
    if _answered is not None:
        return _answered
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if ground.isdecimal():
        return int(ground) in (7, *range(9, 16))
    return False if os.environ.get("TERM") == "linux" else None

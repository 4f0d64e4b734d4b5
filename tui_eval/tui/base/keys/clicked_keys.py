"""Keys that texts tell, by the cell of a click: `enter writes · esc closes`, `D  the demo`."""

from __future__ import annotations

from itertools import takewhile

from rich.cells import cell_len

from tui_eval.tui.base.keys.key_names import key_of
from tui_eval.tui.base.look.ink import Line

NAMED_KEYS = {"enter": "enter", "esc": "escape", "space": "space", "tab": "tab"}
"""Keys of a box as its hints call them; characters are called what they are."""
SAID = ("", "faint")
"""The inks of what a key does."""


def key_in_hints(hints: str, x: int) -> str:
    """The key at a cell of hints: `enter writes · esc closes`, `J K move`; empty for none."""
    start = 0
    for hint in hints.split(" · "):
        if start <= x < start + cell_len(hint):
            words = [word.strip(":,") for word in hint.split(" ")]
            keys = [*takewhile(lambda name: name in NAMED_KEYS or len(name) == 1, words)]
            at = hint[: x - start].count(" ")
            name = keys[at if at < len(keys) else 0] if keys else ""
            return NAMED_KEYS.get(name, name if name.isascii() else "")
        start += cell_len(hint) + 3
    return ""


def key_in_line(line: Line, x: int) -> str:
    """The key at a cell of a line that has keys in their own ink, and behind each what it does.

    Args:
        x: Cells from the line's first.

    Returns:
        The key as Textual names it; empty where there is none.
    """
    key, start = "", 0
    for text, ink in line:
        if ink == "key":
            key = text.strip()
        elif ink not in SAID:
            key = ""
        end = start + cell_len(text)
        if x < end:
            spaces = cell_len(text) - cell_len(text.lstrip())
            is_before = ink == "key" and x < start + spaces
            return _named(key) if key and not is_before else ""
        start = end
    return ""


def _named(sign: str) -> str:
    try:
        return key_of(sign)
    except ValueError:  # it is no key that is in this ink
        return ""

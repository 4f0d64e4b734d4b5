"""A line of text that is edited, with its caret."""

from __future__ import annotations

import re

from rich.cells import cell_len
from textual import events

from tui_eval.tui.base.look.ink import Line

_WORD_BEFORE = re.compile(r"\S*\s*$")
_WORD_AFTER = re.compile(r"\s*\S*")

KEYS = {
    "left": ("move", -1),
    "right": ("move", 1),
    "home": ("move", -(10**6)),
    "end": ("move", 10**6),
    "ctrl+left": ("move_word", -1),
    "ctrl+right": ("move_word", 1),
    "backspace": ("delete", -1),
    "delete": ("delete", 1),
}


class TextLine:
    """Text with a caret, which is from 0 to the length of the text."""

    __slots__ = ("caret", "text")

    def __init__(self, text: str = "", caret: int = 0) -> None:
        self.text, self.caret = text, caret

    def put(self, text: str) -> None:
        """Replaces the text, with the caret at its end."""
        self.text, self.caret = text, len(text)

    def insert(self, text: str) -> None:
        """Types or pastes; lines become one."""
        text = text.replace("\n", " ")
        self.text = self.text[: self.caret] + text + self.text[self.caret :]
        self.caret += len(text)

    def delete(self, by: int) -> None:
        """Takes out the character after the caret, or the one before it for -1."""
        start, end = sorted((self.caret, max(self.caret + by, 0)))
        self.text = self.text[:start] + self.text[end:]
        self.caret = start

    def delete_word(self) -> None:
        """Takes out the word before the caret."""
        end = self.caret
        self.move_word(-1)
        self.text = self.text[: self.caret] + self.text[end:]

    def move(self, by: int) -> None:
        self.caret = min(max(self.caret + by, 0), len(self.text))

    def move_word(self, by: int) -> None:
        """Moves the caret over a word."""
        if by < 0:
            found = _WORD_BEFORE.search(self.text[: self.caret])
            self.move(-len(found.group()) if found else 0)
        else:
            found = _WORD_AFTER.match(self.text[self.caret :])
            self.move(len(found.group()) if found else 0)

    def spans(self, width: int) -> Line:
        """The part around the caret that fits into a width, the caret drawn."""
        start = self._first(width)
        end = start
        while end < len(self.text) and cell_len(self.text[start : end + 1]) < width:
            end += 1
        here = self.text[self.caret : self.caret + 1] if self.caret < end else " "
        return (
            (self.text[start : self.caret], ""),
            (here, "caret"),
            (self.text[self.caret + 1 : end], ""),
        )

    def click(self, x: int, width: int) -> None:
        """Puts the caret where somebody clicked, so many cells from the left."""
        start = self._first(width)
        self.caret = start
        while self.caret < len(self.text) and cell_len(self.text[start : self.caret + 1]) <= x:
            self.caret += 1

    def _first(self, width: int) -> int:
        start = max(self.caret - width, 0)
        while cell_len(self.text[start : self.caret]) >= width - 1 and start < self.caret:
            start += 1
        return start


def type_into(line: TextLine, event: events.Key) -> bool:
    """Lets a key edit a line of text; returns whether it did."""
    if event.key in KEYS:
        method, by = KEYS[event.key]
        getattr(line, method)(by)
    elif event.key == "ctrl+u":
        line.put("")
    elif event.key in ("ctrl+w", "alt+backspace", "ctrl+backspace"):
        line.delete_word()
    elif event.character and event.is_printable:
        line.insert(event.character)
    else:
        return False
    return True

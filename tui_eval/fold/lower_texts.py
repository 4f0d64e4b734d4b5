"""Texts in lower case that are searched for a regular expression, many at once."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from itertools import accumulate
from threading import Lock

PIECE = 256
"""Texts that are searched at once."""
_ESCAPED = r"[!-/:-@\[-`{-~]"
_WITHIN_LINES = re.compile(
    rf"(?:[^\\\[\x00-\x1f]|\\(?:[bdwS]|{_ESCAPED})"
    rf"|\[(?!\^)\]?(?:[^\\\]\x00-\x1f]|\\(?:[dwS]|{_ESCAPED}))*\])*"
)


def stays_within_lines(source: str) -> bool:
    """Whether a regular expression that does not look around is sure to match no line break."""
    return _WITHIN_LINES.fullmatch(source) is not None


class LowerTexts(list[str]):
    """Texts in lower case that only grow in number.

    To begin a search takes longer than a short text: what stays in a line is sought in `pieces`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[Piece] = []
        self._lock = Lock()

    def pieces(self) -> list[Piece]:
        """The texts from the first one on, but for those that do not fill a piece."""
        with self._lock:  # several threads may search at once
            for start in range(len(self._pieces) * PIECE, len(self) - PIECE + 1, PIECE):
                self._pieces.append(Piece(self[start : start + PIECE]))
            return self._pieces


class Piece:
    """Texts that follow each other; those beyond ASCII by themselves, as one widens them all."""

    def __init__(self, texts: list[str]) -> None:
        plain = [text if text.isascii() else "" for text in texts]
        self._joined = "\n".join(plain)
        self._ends = array("I", accumulate(len(text) + 1 for text in plain))
        self._others = {at: text for at, text in enumerate(texts) if not text.isascii()}

    def found(self, lines: re.Pattern[str]) -> list[bool]:
        """Whether each text has a match of an expression that goes to the end of a line."""
        found = [False] * len(self._ends)
        for match in lines.finditer(self._joined):
            found[bisect_right(self._ends, match.start())] = True
        for at, text in self._others.items():
            found[at] = lines.search(text) is not None
        return found

"""Answers of a terminal, which come between the keys that are typed on it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

_ANSWERS = re.compile(
    r"\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\)"  # colours, the clipboard, titles
    r"|\x1b\[[?>=][\d;:]*[a-zA-Z]"  # what the terminal is, the keys that it reports
    r"|\x1b\[2;(?P<column>\d+)R"  # where its cursor is, on the line that `Line` asks for
    r"|\x1bP[\d;]*[$+>!|][^\x1b]*\x1b\\"  # its name, its settings
)
_CUT_OFF = re.compile(
    r"\x1b(?:\](?:\d+(?:;[^\x07\x1b]*\x1b?)?)?"
    r"|\[[?>=][\d;:]*|\[2;\d*"
    r"|P(?:[\d;]*(?:[$+>!|][^\x1b]*\x1b?)?)?)\Z"
)
_MAY_BEGIN = re.compile(r"\x1b\[?\Z")
_KEY = 2
"""So many signs are typed at most with one key: what ends with them is Alt and a key."""
MOST = 4096
DROPPED_AFTER_S = 1.0
EXPECTED_FOR_S = 5.0
"""So long after the question an answer may come."""
ESCAPE_WAITS_S = 0.3
"""How long escape alone may be the beginning of an answer that is expected."""


class Answers:
    """Takes the answers out of what a terminal sends: as keys they would be commands.

    Textual knows those that it waits for and types the others. An answer may come late, and in
    parts: one that is cut off is kept until the rest is there, and dropped where none comes.

    Args:
        on_cursor: Takes where the cursor is, column and line from 0. Textual's parser would take
            such an answer for keys where it comes within a paste.
        clock: Gives a time in seconds that only grows.
    """

    def __init__(
        self,
        on_cursor: Callable[[int, int], object] = lambda x, y: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_cursor = on_cursor
        self._clock = clock
        self._kept = ""
        self._since = 0.0
        self._expected_until = 0.0

    def expect(self, more: bool = True) -> None:
        """The terminal was asked: escape, for a while, may be the beginning of an answer.

        Args:
            more: False once all answers have come.
        """
        self._expected_until = self._clock() + EXPECTED_FOR_S if more else 0.0

    def take_out(self, received: str) -> str:
        """What is left of a text without answers, and without one that is cut off at its end."""
        text = _ANSWERS.sub(self._take, self._kept + received)
        found = _CUT_OFF.search(text)
        if found is None and self._clock() < self._expected_until:
            found = _MAY_BEGIN.search(text)
        start = found.start() if found else len(text)
        if len(text) - start > MOST:
            start, text = 0, ""
        self._kept, text = text[start:], text[:start]
        self._since = self._clock()
        return text

    def _take(self, answer: re.Match[str]) -> str:
        if answer["column"]:
            self._on_cursor(int(answer["column"]) - 1, 1)
        return ""

    def give_up(self) -> str:
        """What turned out to be a key, once nothing has come for a while; an answer is dropped."""
        kept, now = self._kept, self._clock()
        waits = ESCAPE_WAITS_S if now < self._expected_until else 0.0
        if now - self._since < (waits if len(kept) <= _KEY else DROPPED_AFTER_S):
            return ""
        self._kept = ""
        return kept if len(kept) <= _KEY else ""

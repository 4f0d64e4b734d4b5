"""Output of people's code, printed or logged, with the call that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

MOST = 20_000
"""Characters of one call that are kept."""
_BEYOND = 4_096
"""Characters after those in which the end of a secret is looked for, which is taken out whole."""


class Output:
    """Printed text, up to a number of characters.

    Args:
        redact: Takes the secrets out of text that is to be cut.
    """

    __slots__ = ("_length", "_most", "_parts", "_redact", "_room")

    def __init__(self, redact: Callable[[str], str], most: int = MOST) -> None:
        self._parts: list[str] = []
        self._redact = redact
        self._most = most
        self._room = most + _BEYOND if most else 0
        self._length = 0

    def add(self, text: str) -> None:
        """Takes in more; what does not fit any more is counted."""
        self._length += len(text)
        kept = text[: self._room]
        self._room -= len(kept)
        if kept:
            self._parts.append(kept)

    def __str__(self) -> str:
        text, left_out = "".join(self._parts), self._length - self._most
        if left_out <= 0:
            return text.rstrip("\n")
        kept = self._redact(text)[: self._most].rstrip("\n")
        return f"{kept}\n… {left_out:,} more characters"


class Printing(Protocol):
    """Something that may print.

    Attributes:
        output: Its output; None for nothing.
        is_over: Whether it has ended, so that what comes yet is its rollout's.
    """

    output: Output | None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""


CALL: ContextVar[Printing | None] = ContextVar("call", default=None)
"""The tool call or the call of a reward function that runs here."""

"""Output of people's code, printed or logged, with the call that it belongs to."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

MOST = 20_000
"""Characters of one call that are kept."""


class Output:
    """Printed text, up to a number of characters."""

    __slots__ = ("_left_out", "_parts", "_room")

    def __init__(self, most: int = MOST) -> None:
        self._parts: list[str] = []
        self._room = most
        self._left_out = 0

    def add(self, text: str) -> None:
        """Takes in more; what does not fit any more is counted."""
        kept = text[: self._room]
        self._room -= len(kept)
        self._left_out += len(text) - len(kept)
        if kept:
            self._parts.append(kept)

    def __str__(self) -> str:
        left_out = f"\n… {self._left_out:,} more characters" if self._left_out else ""
        return "".join(self._parts).rstrip("\n") + left_out


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

"""Feeds without an engine or files: of no run yet, and of events that were received before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.commands import Command
    from tui_eval.events import Event
    from tui_eval.fold.trajectory import Rollout


class NullFeed:
    """The feed of a run that there is not yet."""

    live = False

    async def start(self) -> None:
        """There is nothing to open."""

    def drain(self, most: int = 5000) -> list[Event]:
        """There are no events."""
        return []

    def send(self, command: Command) -> None:
        """Nobody listens."""

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """Nothing is on disk."""
        return None

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        """Nothing was printed."""
        return b"", 0

    async def close(self) -> None:
        """Nothing is held open."""


class RecordedFeed(NullFeed):
    """Events that a listener received before, once more."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def drain(self, most: int = 5000) -> list[Event]:
        """All of it, once."""
        events, self._events = self._events, []
        return events

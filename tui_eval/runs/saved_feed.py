"""A saved run as a feed: the same events as a live one, read from its files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice

from tui_eval.events import Command, Event
from tui_eval.fold.transcript import Rollout
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import read_rollout, saved_events


class SavedFeed:
    """A run that nobody writes now."""

    live = False

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._events: Iterator[Event] = iter(())

    async def start(self) -> None:
        """Opens the files."""
        await asyncio.to_thread(self.open)

    def open(self) -> None:
        """Opens the files, for callers without a loop."""
        self._events = iter(list(saved_events(self._run)))

    def drain(self, most: int = 5000) -> list[Event]:
        """See `Feed.drain`."""
        return list(islice(self._events, most))

    def send(self, command: Command) -> None:
        """Nobody listens."""

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """See `Feed.saved`."""
        return read_rollout(self._run, row, offset, length)

    async def close(self) -> None:
        """Nothing is held open."""

"""Feed of a run at work: joined, or read from disk where its engine is gone by then."""

from __future__ import annotations

import asyncio

from tui_eval import clock
from tui_eval.commands import Command
from tui_eval.events import Event, Noticed, RunFinished
from tui_eval.feeds.feed import Feed
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder

CANNOT_JOIN = "The engine of this run cannot be joined: what is on disk is shown, and followed."


def feed_of(run: RunDir) -> Feed:
    """The feed of a run: joined where an engine is at work on it now, read from disk where not."""
    held = holder(run.lock)
    return JoinedFeed(run, held.socket) if held is not None and held.socket else SavedFeed(run)


class JoinedFeed:
    """See `feeds.feed.Feed`. The disk has all that an engine reports before it is connected to.

    Args:
        socket: Socket of the engine, as it was found.
    """

    def __init__(self, run: RunDir, socket: str) -> None:
        self._run = run
        self._feed: LiveFeed | SavedFeed = LiveFeed(socket_path=socket)
        self._early: list[Event] = []
        self._has_events = False
        self._opening: asyncio.Task[None] | None = None

    @property
    def live(self) -> bool:
        return self._feed.live

    async def start(self) -> None:
        """Connects to the engine; opens the files where none answers."""
        await self._feed.start()
        if not self._feed.live:
            self._turn_to_disk()
            if self._opening is not None:
                await self._opening

    def _turn_to_disk(self) -> None:
        self._feed = SavedFeed(self._run)
        self._has_events = True
        if holder(self._run.lock) is not None:
            self._early.append(Noticed(0, clock.now(), "warning", CANNOT_JOIN))
        self._opening = asyncio.create_task(self._feed.start())

    def drain(self, most: int = 5000) -> list[Event]:
        early, self._early = self._early, []
        found = self._feed.drain(most)
        if found and not self._has_events:
            last = found[-1]
            if isinstance(last, RunFinished) and last.status == "failed" and not self._feed.live:
                self._turn_to_disk()  # it ended before it sent anything
                return early
            self._has_events = True
        return early + found

    def send(self, command: Command) -> None:
        self._feed.send(command)

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        return self._feed.saved(row, offset, length)

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        return self._feed.log(at, most)

    async def close(self) -> None:
        if self._opening is not None:
            await self._opening
        await self._feed.close()

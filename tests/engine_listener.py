"""A listener of a real engine process, with its events and their folds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tui_eval.events import Event
from tui_eval.feeds.joined_feed import JoinedFeed
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import SuiteState

PATIENCE_S = 30.0


class EngineListener:
    """A listener with all events that it received, folded as one run and as several."""

    def __init__(self, feed: LiveFeed | JoinedFeed) -> None:
        self.feed = feed
        self.state = RunState()
        self.suite = SuiteState()
        self.events: list[Event] = []

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def listen(self) -> None:
        for event in self.feed.drain():
            self.events.append(event)
            self.state.apply(event)
            self.suite.apply(event)

    async def until(self, condition: Callable[[], Any], what: str) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self.listen()
                if value := condition():
                    return value
                await asyncio.sleep(0.01)
        raise AssertionError(what)


@asynccontextmanager
async def listening(feed: LiveFeed) -> AsyncIterator[EngineListener]:
    await feed.start()
    try:
        yield EngineListener(feed)
    finally:
        await feed.close()
        if feed.engine is not None:
            feed.engine.stop()
            await asyncio.to_thread(feed.engine.wait)
            feed.engine.clean_up()

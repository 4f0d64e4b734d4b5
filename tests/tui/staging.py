"""The app on a scripted feed, with what a test wants to press and to look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from scripted_run import NOW, SELECTED, ScriptedFeed, all_events, running_events, saved_rows, story
from textual.pilot import Pilot

from tui_eval import events as ev
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.widgets.line_view import LineView


class Stage:
    """A running app with what a test wants to look at."""

    pilot: Pilot[Any]

    def __init__(self, feed: ScriptedFeed, saved: bool) -> None:
        self.feed = feed
        self.clock = NOW
        self.app = TuiEvalApp(feed, now=lambda: self.clock, saved=saved)
        self.live = self.app.live_screen

    async def until(self, condition: Callable[[], Any]) -> None:
        for _ in range(300):
            await self.pilot.pause(0.01)
            if condition():
                return
        raise AssertionError("this never came about")

    async def tell(self, *events: ev.Event) -> None:
        self.feed.events += events
        await self.until(lambda: not self.feed.events)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def text(self, view: LineView) -> str:
        return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


@asynccontextmanager
async def staged_app(
    feed: ScriptedFeed, *, saved: bool = True, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Stage]:
    stage = Stage(feed, saved)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: not feed.events and not stage.live.reader.must_read)
        yield stage


def running() -> ScriptedFeed:
    return ScriptedFeed(running_events(), saved_rows(), stories={SELECTED: story()})


def over() -> ScriptedFeed:
    return ScriptedFeed(all_events(), saved_rows(), live=False)

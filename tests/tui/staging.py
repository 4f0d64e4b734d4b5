"""The app on a scripted feed, and helpers to press keys and read the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app_driver import AppDriver, is_opening
from run_on_disk import FeedFromDisk
from scripted_rows import saved_rows, trajectory
from scripted_run import NOW, SELECTED, ScriptedFeed, all_events, running_events
from scripted_suite import Feeds, suite_events
from textual.widgets import OptionList

from tui_eval import events as ev
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.question import Choices, Question
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.preferences import Preferences


class Stage(AppDriver):
    """A running app with what a test wants to look at."""

    def __init__(
        self,
        feed: ScriptedFeed | FeedFromDisk,
        feeds: Feeds | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        self.feed = feed
        self.clock = NOW
        self.feeds = feeds or Feeds()
        self.app = TuiEvalApp(
            feed,
            open_feed=self.feeds,
            now=lambda: self.clock,
            preferences=preferences,
        )

    @property
    def live(self) -> Any:
        return self.app.live_screen

    @property
    def evaluations(self) -> list[str]:
        """The lines of a suite's list that can be seen, without its head and the mark."""
        return [line[1:] for line in self.text(self.live.evaluations).splitlines()[1:]]

    async def publish(self, *events: ev.Event) -> None:
        self.feed.events += events
        await self.until(lambda: not self.feed.events)
        await self.pilot.pause()

    async def at_rest(self, *views: LineView) -> list[int]:
        """Requested lines of each view, once several ticks in a row request no more."""
        seen: list[list[int]] = []
        for _ in range(300):
            await self.pilot.pause(0.05)
            seen.append([view.requested for view in views])
            if len(seen) > 4 and not self.feed.events and all(one == seen[-1] for one in seen[-5:]):
                return seen[-1]
        raise AssertionError("the screen did not come to rest")


def said(stage: Stage) -> str:
    """The line of keys, where a screen also answers."""
    return stage.text(stage.live.keys)


def question(stage: Stage) -> str:
    """The title and the lines of a question."""
    assert isinstance(stage.app.screen, Question)
    box = stage.app.screen.query_one(Choices)
    return f"{box.border_title}\n{stage.text(box)}"


@asynccontextmanager
async def staged_app(
    feed: ScriptedFeed | FeedFromDisk,
    *,
    size: tuple[int, int] = (120, 40),
    preferences: Preferences | None = None,
) -> AsyncIterator[Stage]:
    stage = Stage(feed, preferences=preferences)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: not feed.events and not stage.live.reader.must_read)
        yield stage


@asynccontextmanager
async def staged_suite(
    events: list[ev.Event] | None = None,
    *,
    feeds: Feeds | None = None,
    live: bool = True,
    size: tuple[int, int] = (120, 40),
) -> AsyncIterator[Stage]:
    feed = ScriptedFeed(suite_events() if events is None else events, live=live)
    stage = Stage(feed, feeds)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: stage.app.suite is not None and not feed.events)
        await stage.until(lambda: not is_opening(stage.live) and not stage.live.reader.must_read)
        yield stage


def running() -> ScriptedFeed:
    return ScriptedFeed(running_events(), saved_rows(), trajectories={SELECTED: trajectory()})


def over() -> ScriptedFeed:
    return ScriptedFeed(all_events(), saved_rows(), live=False)


async def opened_palette(stage: Stage, *words: str) -> OptionList:
    """The list of an opened palette, once it has what was typed."""
    await stage.press("colon")
    await stage.press(*words)
    screen = stage.app.screen
    await stage.until(lambda: screen.has_class("-ready"))
    await stage.until(lambda: not any(one.is_running for one in stage.app.workers))
    return screen.query_one(OptionList)

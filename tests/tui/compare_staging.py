"""An app with compared runs, and helpers to press keys and read the screen."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app_driver import AppDriver
from scripted_rows import saved_rows
from scripted_run import NOW, ScriptedFeed, all_events, running_events
from textual.screen import Screen

from tui_eval.feeds.feed import Feed
from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.app import ScreenApp
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.compare.screen import CompareRuns
from tui_eval.tui.run.session import RunSession

OUTCOMES = ("fixed", "broken", "both-wrong", "both-right")


class Comparing(AppDriver):
    """A running app with a comparison, and what a test wants to look at."""

    def __init__(self, first: Screen[Any]) -> None:
        self.app = ScreenApp(first)

    @property
    def screen(self) -> Any:
        return self.app.screen

    async def press(self, *keys: str) -> None:
        await super().press(*keys)
        await self.until(lambda: getattr(self.screen, "is_ready", True))
        await self.pilot.pause()

    def text(self, view: str) -> str:
        found = self.screen.query_one(f"#{view}", LineView)
        lines = (found.render_line(y).text.rstrip() for y in range(found.size.height))
        return "\n".join(lines).rstrip()

    def rows(self) -> list[list[str]]:
        """The cells of the visible examples: id, A, B, difference, outcome."""
        lines = self.text("pairs").splitlines()[2:]
        cells = [line[1:].replace("both ", "both-").split() for line in lines]
        return [[one[0], *one[-5:-2], one[-1]] for one in cells if one and one[-1] in OUTCOMES]

    def title(self, view: str) -> str:
        return str(self.screen.query_one(f"#{view}").border_title)


@asynccontextmanager
async def comparing(
    first: Screen[Any], size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Comparing]:
    stage = Comparing(first)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: stage.screen.is_ready)
        await stage.pilot.pause()
        yield stage


def runs_screen(paths: list[Path], only: str = "") -> CompareRuns:
    return CompareRuns(paths, only=only, now=lambda: NOW)


def live_run(*, ended: bool = True) -> tuple[Feed, RunState]:
    events = all_events() if ended else running_events()
    run = RunSession(ScriptedFeed(events, saved_rows(), live=not ended))
    run.fold(math.inf, lambda event: None)
    return run.feed, run.state

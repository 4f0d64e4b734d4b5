"""The home screen on a scripted backend, and helpers to press keys and read it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app_driver import AppDriver, is_drawn
from scripted_home import FormBackend, pin_time_zone, several_runs
from scripted_run import NOW
from textual.screen import Screen

from tui_eval.config.draft import Draft
from tui_eval.tui.compare.screen import CompareRuns
from tui_eval.tui.home_app import HomeApp


class HomeStage(AppDriver):
    """Home with what a test wants to press and to look at."""

    def __init__(self, backend: FormBackend) -> None:
        self.backend = backend
        self.configured: list[str] = []
        self.form: Screen[Any] = Screen()
        self.app = HomeApp(backend, now=lambda: NOW)
        self.home = self.app.home
        self.home.make_form = self._make_form

    @property
    def compared(self) -> list[list[Path]]:
        """The runs of the comparisons that are shown."""
        screens = self.app.screen_stack
        return [list(one.reading.paths) for one in screens if isinstance(one, CompareRuns)]

    def _make_form(self, draft: Draft, refused: Any) -> Screen[Any]:
        self.configured.append(draft.form.env_id)
        self.refused = [str(fault) for fault in refused]
        self.form.draft = draft
        return self.form

    @property
    def wanted(self) -> tuple[str, str]:
        """What the backend was asked for last; endpoints are asked for at any moment."""
        return [one for one in self.backend.calls if one[0] != "reach"][-1]

    @property
    def list(self) -> str:
        return self.text(self.home.runs)

    @property
    def about(self) -> str:
        return self.text(self.home.about)

    @property
    def keys(self) -> str:
        return self.text(self.home.keys)

    @property
    def selected(self) -> str:
        one = self.home.runs.selected
        assert one is not None
        return one.run.path.name

    @property
    def is_home(self) -> bool:
        return self.app.screen is self.home

    async def into_run(self) -> Any:
        """Opens the selected run; returns its screen once that has the run."""
        await self.press("enter")
        await self.watching()
        return self.app.live_screen

    async def watching(self) -> None:
        await self.until(lambda: self.app.watches and self.app.state.run is not None)
        await self.until(lambda: self.app.screen is self.app.live_screen)

    async def select(self, name: str) -> None:
        names = [one.run.path.name for one in self.home.runs.shown]
        self.home.runs.select(names.index(name))
        await self.pilot.pause()


@asynccontextmanager
async def at_home(
    backend: FormBackend | None = None, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[HomeStage]:
    pin_time_zone()
    stage = HomeStage(backend or FormBackend(several_runs()))
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(
            lambda: stage.home.polling.looked and stage.home.runs.is_loaded and is_drawn(stage.app)
        )
        yield stage

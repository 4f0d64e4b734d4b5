"""A form on a scripted backend, and helpers to press keys and read the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app_driver import AppDriver
from scripted_form import FormApp

from tui_eval.tui.form.picker import Picker
from tui_eval.tui.form.screen import ConfigureScreen


class Stage(AppDriver):
    """A form on the screen, with what a test wants to press and to look at."""

    def __init__(self, app: FormApp) -> None:
        self.app = app

    @property
    def screen(self) -> ConfigureScreen:
        return self.app.configure

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Requests that the app was told to begin with."""
        return self.app.requests

    async def settled(self) -> None:
        await self.until(lambda: self.screen.is_settled)

    async def picker(self) -> Picker:
        """The list that was opened, once it has its offers."""
        await self.until(lambda: isinstance(self.app.screen, Picker))
        picker = self.app.screen
        assert isinstance(picker, Picker)
        await self.until(lambda: not picker.list.is_waiting)
        return picker

    async def to(self, name: str) -> None:
        self.screen.fields.go_to(name)
        await self.pilot.pause()

    def below(self, name: str) -> str:
        """The line below that of a field."""
        lines = self.text(self.screen.fields).splitlines()
        at = next(i for i, line in enumerate(lines) if line[1:].split()[:1] == [name])
        return lines[at + 1].strip()


@asynccontextmanager
async def staged(app: FormApp, size: tuple[int, int] = (120, 60)) -> AsyncIterator[Stage]:
    stage = Stage(app)
    async with app.run_test(size=size) as stage.pilot:
        await stage.settled()
        yield stage

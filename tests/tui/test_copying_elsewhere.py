"""Copying where no run is open: on home, in comparisons, in the form of an evaluation."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from compared_runs import two_runs
from msgspec.structs import replace
from run_on_disk import run_on_disk
from scripted_form import ready
from scripted_home import FormBackend, found_run, pin_time_zone
from scripted_run import NOW
from textual.app import App
from textual.pilot import Pilot

from tui_eval.tui.base.app import ScreenApp
from tui_eval.tui.compare.screen import CompareRuns
from tui_eval.tui.home_app import HomeApp


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


class Shown:
    """A running app, and what it copied last."""

    def __init__(self, app: App[Any], pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, "this never came about"
            await self.pilot.pause(0.02)

    async def copied(self, *keys: str) -> str:
        """The contents of the file after these keys, once the screen confirms it."""
        screen: Any = self.app.screen
        screen.keys.message = ""
        await self.pilot.press(*keys)
        await self.until(lambda: screen.keys.message)
        assert "copied.txt" in screen.keys.message, screen.keys.message
        assert Path("cache/copied.txt").read_text() == self.app.clipboard
        return str(self.app.clipboard)


@asynccontextmanager
async def shown(app: App[Any], ready: Callable[[], Any]) -> AsyncIterator[Shown]:
    async with app.run_test(size=(120, 40)) as pilot:
        found = Shown(app, pilot)
        await found.until(ready)
        yield found


async def test_home_copies_path_and_command_and_exports_a_run(here: Path) -> None:
    pin_time_zone()
    run = run_on_disk(here / "sums--tiny" / "0a1b")
    one = replace(found_run("sums"), run=run, done=4)
    app = HomeApp(FormBackend([one]), now=lambda: NOW)
    async with shown(app, lambda: app.home.polling.looked and app.home.runs.is_loaded) as stage:
        assert await stage.copied("y", "p") == str(run.path)
        assert await stage.copied("y", "r") == "tui-eval run sums -m tiny -n 2 -r 2"
        await stage.pilot.press("x", "enter")
        await stage.until(lambda: "written to" in app.home.keys.message)
        assert Path("sums--tiny-0a1b.html").exists()


async def test_a_comparison_copies_of_both_runs_and_of_both_rollouts(here: Path) -> None:
    paths = two_runs(here)
    screen = CompareRuns(paths, now=lambda: NOW)
    async with shown(ScreenApp(screen), lambda: screen.is_ready) as stage:
        assert await stage.copied("y", "p") == str(paths[0])
        assert await stage.copied("y", "P") == str(paths[1])
        await stage.pilot.press("enter")
        await stage.until(lambda: getattr(stage.app.screen, "trajectories", None))
        await stage.until(lambda: stage.app.screen.is_ready)  # type: ignore[attr-defined]
        await stage.pilot.press("g", "j")
        first = await stage.copied("y", "m")
        assert first.startswith("You are a careful calculator")
        assert (await stage.copied("y", "M")).startswith("You are a calculator")
        whole = json.loads(await stage.copied("y", "W"))
        lines = (paths[1] / "results.jsonl").read_text().splitlines()
        assert whole in [json.loads(line) for line in lines]


async def test_the_form_copies_in_the_same_way() -> None:
    app = ready()
    async with shown(app, lambda: getattr(app.screen, "is_settled", False)) as stage:
        screen: Any = app.screen
        await stage.until(lambda: screen.looked.command)
        assert await stage.copied("f3") == screen.looked.command
        assert await stage.copied("f4") == screen.looked.toml

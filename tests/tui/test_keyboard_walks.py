"""Every screen by keyboard alone, and by mouse: shown keys work, and lead out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from app_driver import is_at_rest, press, seen, until
from compared_runs import three_runs
from scene_apps import busy_home, comparing, live, two_rollouts
from scene_apps import over as saved_run
from scene_apps import suite as suite_app
from scripted_form import monday
from scripted_home import pin_time_zone
from scripted_run import NOW, running_events
from scripted_suite import suite_events
from textual.app import App
from textual.pilot import Pilot
from tiers import first_always

from tui_eval.tui.base.dialogs.question import Question
from tui_eval.tui.base.keys.command import ABOVE, HIDDEN, Command
from tui_eval.tui.base.keys.help import HERE, Help
from tui_eval.tui.base.keys.keymap import COMMANDS, USUAL
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.home_app import HomeApp
from tui_eval.tui.run.commands import PANE_SCOPES

pytestmark = pytest.mark.usefixtures("nobody_pauses")

TYPES = frozenset(("list.filter", "trajectory.search", "log.search", "runs.filter"))
STAYS = frozenset(("run.save-now", "home.look-again"))
"""What the engine or the disk answers, after the key."""
LEAVES = frozenset(
    ("run.leave", "home.quit", "compared.leave", "compared.back", "form.leave", "form.run",
     "home.demo", "app.suspend", "app.quit", "app.interrupt")
)  # fmt: skip


def home_app() -> HomeApp:
    pin_time_zone()
    app = HomeApp(busy_home(), now=lambda: NOW)
    app.home.make_form = lambda *request: monday().configure
    return app


@dataclass(frozen=True)
class Walk:
    """A screen, and the keys that lead to each of its panes; no more of them than it takes.

    Args:
        into: Keys that lead to it from the app's first screen.
        apart: Panes with keys of their own.
    """

    make: Callable[[], App[Any]]
    panes: dict[str, tuple[str, ...]]
    apart: tuple[str, ...]
    into: tuple[str, ...] = ()
    helps: str = "question_mark"


RUN = {name: (str(at),) for at, name in enumerate(
    ("rollouts", "trajectory", "numbers", "log", "reward"), 1)}  # fmt: skip
HOME = {"runs": ("1",), "environments": ("2",), "endpoints": ("3",)}
COMPARED = {"pairs": ("1",), "paired-numbers": ("2",), "settings": ("3",)}
FORM = dict.fromkeys(("fields", "does", "toml", "command", "readme"), ("f2",) * 5)
WALKS = {
    "a saved run": Walk(saved_run, RUN, ("rollouts", "trajectory", "numbers", "log")),
    "a running run": Walk(live(running_events()), RUN, ("rollouts", "trajectory")),
    "home": Walk(home_app, HOME, ("runs", "environments", "endpoints")),
    "compared runs": Walk(comparing(three_runs), COMPARED, ("pairs", "settings")),
    "compared trajectories": Walk(
        comparing(three_runs), {"trajectories": ()}, ("trajectories",), ("j", "enter")
    ),
    "two rollouts": Walk(two_rollouts, {"trajectories": ()}, ("trajectories",)),
    "several evaluations": Walk(
        suite_app(suite_events()), {"evaluations": ("0",), **RUN}, ("evaluations",)
    ),
    "the form": Walk(monday, FORM, ("fields", "does"), helps="f1"),
}
SIZES = [(80, 24), (120, 40)]


class Walker:
    """Somebody without a mouse, on a screen that stays the same."""

    def __init__(self, walk: Walk, pilot: Pilot[Any]) -> None:
        self.walk, self.pilot, self.app = walk, pilot, pilot.app

    async def enter(self) -> None:
        await until(self.pilot, lambda: is_at_rest(self.app))
        await press(self.pilot, *self.walk.into)
        self.screen: Any = self.app.screen

    async def back(self) -> None:
        """Escape leads back to the screen; from a run that home began its question does."""
        for times in range(6):
            if self.app.screen is self.screen:
                return
            requested = times > 1 and isinstance(self.app.screen, Question)
            await press(self.pilot, "s" if requested else "escape")
        raise AssertionError(f"escape does not lead out\n{seen(self.app)}")

    async def to(self, pane: str) -> None:
        """Goes to a pane by its keys, out of every zoom."""
        await self.back()
        if self.screen.query(".-zoomed, .-list"):
            await press(self.pilot, "z")
        for key in self.walk.panes[pane]:
            if getattr(self.screen.focused, "id", "") != pane:
                await press(self.pilot, key)
        await until(self.pilot, lambda: getattr(self.screen.focused, "id", "") == pane)
        assert self.screen.focused.region.height > 2

    @property
    def shown(self) -> list[Command]:
        """The commands whose keys work here."""
        scopes = {*self.screen.keys.scopes, "app"}
        return [one for one in COMMANDS if one.scope in scopes]

    async def shows_something(self, command: Command) -> bool:
        """Presses the key of a command; returns whether anything is seen of it."""
        keys = self.screen.keys
        keys.message = ""
        keys.update()
        await self.pilot.pause()
        before = self.screen._compositor.render_strips()
        await press(self.pilot, USUAL.keys(command)[0])
        try:  # a copy is said once its file is written
            await until(self.pilot, lambda: self._shows_other_than(before), seconds=5.0)
        except AssertionError:
            return False
        if self.app.screen is self.screen and command.id in TYPES:
            await press(self.pilot, "escape")
        return True

    def _shows_other_than(self, before: list[Any]) -> bool:
        there = self.app.screen is self.screen
        return not there or bool(before != self.screen._compositor.render_strips())


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
async def test_every_key_that_is_shown_does_something_and_escape_leads_back(name: str) -> None:
    walk = WALKS[name]
    async with walk.make().run_test(size=(120, 40)) as pilot:
        walker = Walker(walk, pilot)
        await walker.enter()
        tried: set[str] = set()
        silent = []
        for pane in walk.apart:
            await walker.to(pane)
            for command in walker.shown:
                is_there = USUAL.keys(command) == walk.panes[pane]
                moves = command.scope in ("view", "fields") and command.id != "fields.open"
                if moves or is_there or command.id in tried | LEAVES:
                    continue  # moving shows nothing at an end
                tried.add(command.id)
                if command.id in STAYS:
                    continue
                await walker.to(pane)
                if not await walker.shows_something(command):
                    silent.append(f"{pane}: {USUAL.sign(command)} {command.help}")
        assert silent == []
        assert len(tried) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", WALKS)
async def test_every_pane_is_reached_and_its_help_shows_its_keys_first(
    name: str, size: tuple[int, int]
) -> None:
    walk = WALKS[name]
    async with walk.make().run_test(size=size) as pilot:
        walker = Walker(walk, pilot)
        await walker.enter()
        for pane in walk.panes:
            await walker.to(pane)
            keys = walker.screen.keys
            footer = {command.id for command, _ in keys._fitting(keys.line_width)}
            assert {"help", "leave", "quit"} & {one.split(".")[1] for one in footer}
            works = {one.id for one in walker.shown if one.group not in (ABOVE, HIDDEN)}
            assert footer <= works
            await press(pilot, walk.helps)
            shown = walker.app.screen
            assert isinstance(shown, Help)
            groups = shown.box.topic.commands()
            for _, commands in groups:
                apart = [one for one in commands if one.scope not in PANE_SCOPES]
                keys = [key for one in apart for key in USUAL.keys(one)]
                assert sorted(keys) == sorted(set(keys)), "a key is shown twice"
            listed = {one.id for _, commands in groups for one in commands}
            silent = {one for one, text in shown.box.topic.others.items() if not text}
            missing = {one for one in works - listed if not one.startswith("app.")}
            assert missing <= silent
            assert not silent & footer
            if pane in walk.apart and groups[0][0] == HERE:
                assert HERE in seen(walker.app)
            await walker.back()
        reached = set()
        for _ in walk.panes:
            await press(pilot, "f2" if walk.helps == "f1" else "tab")
            reached.add(getattr(walker.screen.focused, "id", ""))
        assert reached == set(walk.panes)


@pytest.mark.parametrize("name", first_always(WALKS, 3))
async def test_a_click_on_a_key_does_what_it_does_and_one_beside_a_box_closes_it(name: str) -> None:
    walk = WALKS[name]
    async with walk.make().run_test(size=(120, 40)) as pilot:
        walker = Walker(walk, pilot)
        await walker.enter()
        keys = walker.screen.keys
        at = keys.render_line(0).text.index("help") + 1
        await pilot.click(keys, offset=(at, 0))
        await until(pilot, lambda: isinstance(walker.app.screen, Help))
        await pilot.click(offset=(0, 0))
        await until(pilot, lambda: walker.app.screen is walker.screen)
        for pane in walk.panes:
            view = walker.screen.query_one(f"#{pane}", LineView)
            if view.region.height > 2:
                await pilot.click(view, offset=(6, 0))
                await until(pilot, lambda view=view: walker.screen.focused is view)


async def test_the_names_of_homes_columns_sort_its_runs() -> None:
    app = home_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: is_at_rest(app))
        runs, names = app.home.runs, app.home.runs.render_line(0).text
        for name, sorting in (("model", "model"), ("reward", "reward"), ("95 %", "reward")):
            await pilot.click("#runs", offset=(names.index(name), 1))
            await pilot.pause()
            assert runs.sorting == sorting
        assert runs.reversed
        await pilot.click("#runs", offset=(names.index("date") + 2, 1))
        await pilot.pause()
        assert (runs.sorting, runs.reversed) == ("date", False)

"""Scenes of the screen with a pinned clock, for snapshots and for screenshots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from app_driver import is_drawn, is_opening
from compared_runs import Stuck, strangers, three_runs, two_runs
from scene_apps import (
    busy_home,
    comparing,
    empty_home,
    faulty,
    faulty_desk,
    home,
    killed,
    live,
    moved_events,
    not_started,
    noted,
    over,
    paused,
    paused_suite,
    rate_limited,
    refused,
    rich_feed_app,
    scored,
    still_reading,
    suite,
    two_rollouts,
    unblinking,
    with_questions,
    without_log,
    writing,
)
from scripted_form import form_app, monday, ready, wrong
from scripted_run import ScriptedFeed, held_worker_events, running_events, throttled_events
from scripted_suite import ended_events, suite_events
from textual.app import App
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.strip import Strip

from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.app import ScreenApp
from tui_eval.tui.home.pick_lists import CHECKING
from tui_eval.tui.home_app import HomeApp
from tui_eval.tui.suite.screen import SuiteScreen

SIZES = ((80, 24), (120, 40), (200, 60))
"""Columns and lines that every scene is drawn at."""


@dataclass(frozen=True)
class Scene:
    """A screen to look at: how the app is made, what is pressed, and odd sizes it is drawn at."""

    make: Callable[[], App[Any]]
    press: tuple[str, ...] = ()
    more_sizes: tuple[tuple[int, int], ...] = ()

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Columns and lines of each of its pictures."""
        return SIZES + self.more_sizes


SCENES: dict[str, Scene] = {
    "running": Scene(live(running_events())),
    "watching": Scene(live(running_events()), ("k", "k")),
    "running-trajectory": Scene(live(running_events()), ("2",)),
    "running-numbers": Scene(live(running_events()), ("3",), more_sizes=((120, 24),)),
    "throttled": Scene(live(throttled_events())),
    "numbers": Scene(with_questions, ("3", "z")),
    "examples": Scene(with_questions, ("3", "G", "k", "k", "k")),
    "reward": Scene(scored, ("5",)),
    "reward-failed": Scene(scored, ("j", "5")),
    "paused": Scene(paused),
    "worker-held": Scene(live(held_worker_events())),
    "worker-held-numbers": Scene(live(held_worker_events()), ("3", "z", "G")),
    "disk-full": Scene(refused),
    "disk-full-numbers": Scene(refused, ("3",)),
    "disk-full-save-as": Scene(refused, ("C",)),
    "finished": Scene(over),
    "finished-trajectory": Scene(over, ("j", "2")),
    "error": Scene(over, ("e", "2")),
    "unfolded": Scene(over, ("j", "2", "t", "g")),
    "zoomed": Scene(over, ("j", "2", "z")),
    "trajectory-rich": Scene(rich_feed_app, ("j", "2", "g")),
    "trajectory-tools": Scene(rich_feed_app, ("j", "2", "t", "z", "G")),
    "trajectory-typing": Scene(rich_feed_app, ("j", "2", "g", "slash", *"box")),
    "trajectory-found": Scene(rich_feed_app, ("j", "2", "g", "slash", *"candles", "enter", "n")),
    "trajectory-writing": Scene(writing, ("2",)),
    "faults": Scene(faulty),
    "faults-numbers": Scene(faulty, ("3", "z")),
    "tool-raised": Scene(faulty, ("j", "2", "g", "w")),
    "tool-raised-whole": Scene(faulty, ("j", "2", "g", "w", "enter")),
    "rate-limited": Scene(rate_limited),
    "filtered": Scene(over, ("slash", *"reward<0.5", "space", *"turns>3")),
    "filter-fault": Scene(over, ("slash", *"turns>3", "space", *"rewrd<1")),
    "filter-kept": Scene(live(running_events()), ("exclamation_mark",)),
    "sorted": Scene(over, ("b", "s", "j", "j", "j", "enter", "g")),
    "sort-menu": Scene(over, ("s", "j")),
    "columns": Scene(over, ("c", "j", "space")),
    "columns-wide": Scene(over, ("z",)),
    "note": Scene(over, ("a", *"odd", "tab", *"check")),
    "noted": Scene(noted, ("m", "j")),
    "copy": Scene(over, ("j", "2", "g", "right_parenthesis", "y")),
    "copy-running": Scene(live(running_events()), ("y",)),
    "export": Scene(over, ("slash", *"reward<0.5", "enter", "x")),
    "export-file": Scene(over, ("x", "tab", "tab", *"/no/", "left")),
    "starting": Scene(not_started),
    "limit-moved": Scene(live(moved_events())),
    "cancel": Scene(live(running_events()), ("K",)),
    "rerun": Scene(over, ("e", "R")),
    "save-as": Scene(live(running_events()), ("C",)),
    "palette": Scene(unblinking, ("colon", *"err")),
    "quit": Scene(live(running_events()), ("q",)),
    "log": Scene(over, ("4",), more_sizes=((120, 24), (200, 30))),
    "log-unfolded": Scene(over, ("4", "E", "enter")),
    "log-found": Scene(over, ("4", "L", "slash", *"div", "enter")),
    "log-empty": Scene(without_log, ("4",)),
    "suite": Scene(suite(suite_events())),
    "suite-waiting": Scene(suite(suite_events()), ("j", "j")),
    "suite-refused": Scene(suite(suite_events()), ("g", *"jjjjjjj")),
    "suite-trajectory": Scene(suite(suite_events()), ("2",)),
    "suite-list": Scene(suite(suite_events()), ("z",)),
    "suite-paused": Scene(paused_suite),
    "suite-ended": Scene(suite(ended_events(), live=False), ("j",)),
    "suite-killed": Scene(suite(killed(), live=False), ("j",)),
    "suite-again": Scene(suite(ended_events(), live=False), ("j", "R")),
    "suite-quit": Scene(suite(suite_events()), ("q",)),
    "suite-help": Scene(suite(suite_events()), ("question_mark",)),
    "home": Scene(home(busy_home)),
    "home-faults": Scene(home(faulty_desk)),
    "home-empty": Scene(home(empty_home)),
    "home-marked": Scene(home(busy_home), ("m", "m")),
    "home-filter": Scene(home(busy_home), ("slash", *"!word gpt")),
    "home-nothing": Scene(home(busy_home), ("slash", *"gpx", "enter")),
    "home-environments": Scene(home(busy_home), ("2",)),
    "home-endpoints": Scene(home(busy_home), ("3", "j")),
    "home-unreachable": Scene(home(busy_home), ("3", "j", "j"), more_sizes=((120, 24),)),
    "home-copy": Scene(home(busy_home), ("y",)),
    "home-help": Scene(home(busy_home), ("question_mark",)),
    "form": Scene(form_app),
    "form-ready": Scene(ready),
    "form-wrong": Scene(wrong),
    "form-suite": Scene(monday),
    "form-plan": Scene(ready, ("f2",)),
    "form-toml": Scene(ready, ("f2", "f2")),
    "form-readme": Scene(ready, ("f2",) * 4),
    "form-environments": Scene(form_app, ("enter", "down")),
    "form-endpoints": Scene(ready, ("down",) * 5 + ("enter",)),
    "form-json": Scene(wrong, ("down",) * 21 + ("enter",)),
    "form-save": Scene(ready, ("ctrl+w",)),
    "form-leave": Scene(ready, ("escape",)),
    "form-help": Scene(ready, ("f1",)),
    "compare": Scene(comparing(two_runs)),
    "compare-three": Scene(comparing(three_runs), ("greater_than_sign", "b")),
    "compare-none": Scene(comparing(three_runs), ("greater_than_sign", "f")),
    "compare-numbers": Scene(comparing(two_runs), ("2",)),
    "compare-settings": Scene(comparing(two_runs), ("3",)),
    "compare-strangers": Scene(comparing(strangers)),
    "compare-reading": Scene(still_reading),
    "compare-help": Scene(comparing(two_runs), ("question_mark",)),
    "trajectories": Scene(comparing(two_runs), ("enter",)),
    "trajectories-top": Scene(comparing(two_runs), ("enter", "g", "v")),
    "trajectories-copy": Scene(comparing(two_runs), ("enter", "j", "y")),
    "trajectories-group": Scene(two_rollouts),
    "help": Scene(over, ("question_mark",)),
}


async def settle(pilot: Pilot[Any]) -> None:
    """Waits until the feed is folded, the selected rollout read, and two frames in a row equal."""
    app = pilot.app
    is_whole = is_drawn(app) and _has_all(app)
    before: list[Strip] = app.screen._compositor.render_strips() if is_whole else []
    for _ in range(100):
        await pilot.pause(0.12)
        frame = app.screen._compositor.render_strips()
        if frame == before and is_drawn(app) and _has_all(app):
            return
        before = frame
    raise AssertionError("the screen did not come to rest")


async def take_in(pilot: Pilot[Any]) -> None:
    """Waits until a key has had its effect; what takes its time the last frame waits for."""
    for _ in range(300):
        await pilot.pause()
        if _has_all(pilot.app):
            return
        await pilot.pause(0.02)
    raise AssertionError("the screen did not come to rest")


def _has_all(app: Any) -> bool:
    if isinstance(app.screen, CommandPalette):
        return not any(one.is_running for one in app.workers if one.node is app.screen)
    if isinstance(app, HomeApp) and not app.watches:
        home = app.home
        return (
            home.polling.looked
            and home.runs.is_loaded
            and CHECKING not in home.endpoints.answers.values()
        )
    if isinstance(app, ScreenApp):
        if isinstance(getattr(app.first, "reading", None), Stuck):
            return True
        return all(getattr(screen, "is_ready", True) for screen in app.screen_stack)
    assert isinstance(app, TuiEvalApp) and isinstance(app.feed, ScriptedFeed)
    form = getattr(app, "configure", None)
    if form is not None and form in app.screen_stack and not form.is_settled:
        return False
    live = app.live_screen
    if isinstance(live, SuiteScreen) and is_opening(live):
        return False
    log = live.log_pane
    return (
        not app.feed.events
        and not live.reader.must_read
        and live.trajectory.has_layout
        and (log.is_current or not log.size.height)
    )


def act(scene: Scene) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Plays a scene to its last frame."""

    async def play(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        for key in scene.press:
            await pilot.press(key)
            await take_in(pilot)
        if scene.press:
            await settle(pilot)

    return play

"""Partial frames add up to one full frame."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pyte
import pytest
import textual._time
from app_driver import is_at_rest, press, seen, until
from compared_runs import three_runs
from scene_apps import comparing, live
from scene_apps import over as saved_run
from scripted_run import running_events
from staging import over, staged_app
from textual.app import App
from textual.widget import Widget

pytestmark = pytest.mark.usefixtures("every_frame")

APPS: dict[str, tuple[Callable[[], App[Any]], str]] = {
    "a saved run": (saved_run, "2 j j G ctrl+u, z z { 1 j, s escape 3 j 4 G, 1 z end z"),
    "a running run": (live(running_events()), "j j 2 G g, 3 z escape z, question_mark escape 1 f"),
    "compared runs": (comparing(three_runs), "j j 2 j, 3 1 f enter j G, escape"),
}
SIZE = (80, 24)


def picture(screen: pyte.Screen) -> list[Any]:
    return [[screen.buffer[y][x] for x in range(SIZE[0])] for y in range(SIZE[1])]


@pytest.mark.slow
@pytest.mark.parametrize("name", APPS)
async def test_a_terminal_shows_after_many_small_frames_what_a_whole_one_would(name: str) -> None:
    make, keys = APPS[name]
    app = make()
    terminal = pyte.Screen(*SIZE)
    frames = pyte.Stream(terminal)

    def draw(screen: Any, update: Any) -> None:
        is_frame = hasattr(update, "render_segments")  # the first is blank
        if is_frame and screen is app.screen:
            frames.feed(update.render_segments(app.console))

    app._display = draw  # type: ignore[method-assign]
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_at_rest(app))
        for some in keys.split(", "):
            await press(pilot, *some.split())
            whole = pyte.Screen(*SIZE)
            await until(pilot, lambda: not app.screen._compositor._dirty_regions)
            update: Any = app.screen._compositor.render_full_update()
            pyte.Stream(whole).feed(update.render_segments(app.console))
            assert terminal.display == whole.display, some
            assert picture(terminal) == picture(whole), some


async def test_scrolling_one_pane_draws_none_of_the_others_or_of_what_is_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged_app(over(), size=SIZE) as stage:
        await press(stage.pilot, "2", "g")
        requested = []
        render_lines = Widget.render_lines

        def counted(widget: Widget, crop: Any) -> Any:
            requested.append(widget.id or type(widget).__name__)
            return render_lines(widget, crop)

        monkeypatch.setattr(Widget, "render_lines", counted)
        stage.live.trajectory.scroll_lines(1)
        await stage.until(lambda: "trajectory" in requested)
        others = {"rollouts", "numbers", "reward", "header", "panes", "RunScreen"}
        assert not others & set(requested)


async def test_a_piece_that_comes_into_sight_is_marked_with_the_frame_that_shows_it() -> None:
    async with staged_app(over(), size=SIZE) as stage:
        await press(stage.pilot, "2", "g")
        trajectory = stage.live.trajectory
        trajectory.scroll_lines(trajectory.max_scroll_y)
        last = trajectory.scroll_offset.y + trajectory.view_height
        assert any(trajectory.marked(line) for line in range(trajectory.scroll_offset.y, last))


async def test_frames_continue_where_the_loop_was_held_up_just_as_one_was_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged_app(over(), size=SIZE) as stage:
        await until(stage.pilot, lambda: is_at_rest(stage.app))
        now, looked = textual._time.get_time, []

        def held_up() -> float:
            """The second look of a timer at the clock comes a second after the first."""
            timer = sys._getframe(1).f_locals.get("self")
            looked.append(timer) if getattr(timer, "name", "") == "gathering" else None
            return now() + (1.0 if len(looked) == 2 and timer is looked[0] else 0.0)

        monkeypatch.setattr("textual.timer._time.get_time", held_up)
        await press(stage.pilot, "2", "g", "j", "j")
        monkeypatch.setattr("textual.timer._time.get_time", now)
        assert len(looked) > 2
        shown = seen(stage.app)
        await press(stage.pilot, "G")
        assert seen(stage.app) != shown


async def test_a_pane_that_cannot_be_drawn_ends_the_app_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with staged_app(over(), size=SIZE) as stage:
            rollouts = stage.live.rollouts
            monkeypatch.setattr(rollouts, "render_lines", lambda crop: 1 / 0)
            rollouts.refresh()
            while stage.app.is_running:
                await asyncio.sleep(0.01)

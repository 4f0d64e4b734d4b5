"""The panes of a suite: where the keys go, and what is drawn."""

from __future__ import annotations

import pytest
from scripted_run import ScriptedFeed, staged
from scripted_suite import CASES, Feeds, moved, run_path, suite_started
from staging import Stage, staged_suite
from tiers import first_always

from tui_eval import events as ev
from tui_eval.tui.suite.screen import SuiteScreen


async def test_focus_goes_from_the_list_to_the_panes_and_back() -> None:
    async with staged_suite() as stage:
        live = stage.live
        assert live.focused is live.evaluations
        await stage.press("enter")
        assert live.focused is live.rollouts
        await stage.press("tab")
        assert live.focused is live.trajectory
        await stage.press("escape")
        assert live.focused is live.rollouts
        await stage.press("escape")
        assert live.focused is live.evaluations
        await stage.press("shift+tab")
        assert live.focused is live.reward
        await stage.press("0")
        assert live.focused is live.evaluations


async def test_angles_turn_to_another_evaluation_and_stay_in_the_pane() -> None:
    async with staged_suite() as stage:
        live = stage.live
        await stage.press("2", "less_than_sign")
        await stage.until(lambda: live.state.finished == 48)
        await stage.until(lambda: live.focused is live.trajectory)
        assert live.evaluations.cursor == 0
        await stage.press("greater_than_sign")
        await stage.until(lambda: live.state.finished == 30 and live.focused is live.trajectory)


async def test_the_list_is_hidden_and_enlarged() -> None:
    async with staged_suite(size=(80, 24)) as stage:
        live = stage.live
        await stage.until(lambda: live.evaluations.region.height == 5)
        await stage.press("z")
        await stage.until(lambda: live.evaluations.region.height == 10)
        assert not live.grid.region
        await stage.press("enter")
        await stage.until(lambda: live.grid.region and live.focused is live.rollouts)
        await stage.press("v")
        await stage.until(lambda: not live.evaluations.region)
        assert live.grid.region.height >= 19
        await stage.press("v")
        await stage.until(lambda: live.evaluations.region)
        assert live.focused is live.evaluations


async def test_a_zoomed_pane_has_the_screen_until_the_list_is_wanted() -> None:
    async with staged_suite() as stage:
        live = stage.live
        await stage.press("2", "z")
        await stage.until(lambda: not live.evaluations.region and not live.rollouts.region)
        await stage.press("tab")
        await stage.until(lambda: live.focused is live.numbers and live.numbers.region)
        await stage.press("0")
        await stage.until(lambda: live.focused is live.evaluations and live.rollouts.region)


async def test_a_click_selects_an_evaluation_and_a_second_one_enters_it() -> None:
    async with staged_suite() as stage:
        await stage.pilot.click("#evaluations", offset=(10, 2))
        await stage.until(lambda: stage.live.evaluations.cursor == 0)
        await stage.until(lambda: stage.live.state.finished == 48)
        await stage.pilot.click("#evaluations", offset=(10, 2))
        await stage.until(lambda: stage.live.focused is stage.live.rollouts)


@pytest.mark.slow
@pytest.mark.usefixtures("every_frame")
async def test_five_hundred_evaluations_draw_only_what_can_be_seen() -> None:
    many = [(f"task {n}", "m", {"seed": str(n)}) for n in range(500)]
    events = [suite_started(many), moved(0, "finished")]
    async with staged_suite(events, size=(80, 24)) as stage:
        shown = stage.live.evaluations
        assert shown.built < 60
        await stage.press("g", *["ctrl+d"] * 20)
        assert "▌" in stage.text(shown), "the selected one can be seen"
        assert shown.built < 60 + 20 * 4
        await stage.at_rest(shown)
        before = shown.requested
        await stage.publish(moved(400, "running"))
        assert shown.requested - before <= 2


@pytest.mark.usefixtures("every_frame")
async def test_a_tick_with_nothing_new_draws_nothing() -> None:
    async with staged_suite() as stage:
        live = stage.live
        views = (live.top, live.evaluations, live.header, live.rollouts, live.trajectory, live.keys)
        await stage.until(lambda: "multiply" in stage.text(live.trajectory))
        before = await stage.at_rest(*views)
        for _ in range(10):
            stage.app.tick()
            await stage.pilot.pause()
        assert [view.requested for view in views] == before


@pytest.mark.parametrize(
    "size", first_always([((12, 5),), ((101, 12),), ((40, 10),), ((79, 8),), ((300, 90),)], 2)
)
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    async with staged_suite(size=size) as stage:
        for keys in ("1", "2", "z", "z", "0", "z", "j", "v", "v", "question_mark", "escape", "q"):
            await stage.press(keys)


async def test_an_evaluation_that_is_over_waits_with_its_errors_for_the_others() -> None:
    async with staged_suite(size=(240, 60)) as stage:
        assert "rerun" in stage.text(stage.live.keys)
        await stage.press("less_than_sign", "R")
        await stage.until(lambda: "all of the suite is over" in stage.text(stage.live.keys))
        assert "rerun" not in stage.text(stage.live.keys)


async def test_one_run_alone_has_no_list() -> None:
    feed = ScriptedFeed([*Feeds().make(run_path(0), CASES[0], True).events])
    stage = Stage(feed)
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.publish(staged(40, ev.Stage.MODEL))
        assert not isinstance(stage.app.screen, SuiteScreen)
        await stage.press("question_mark")
        assert "Several evaluations" not in stage.text(stage.app.screen.query_one("HelpLines"))

"""Commands to a running run from its screen, and those that reach the engine."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_rows import saved_row, saved_rows
from scripted_run import (
    ERRORS,
    NOW,
    SELECTED,
    ScriptedFeed,
    all_events,
    failed,
    finished,
    refused_events,
    run_started,
    running_events,
    staged,
    throttled_events,
)
from staging import over, question, running, said, staged_app, staged_suite

from tui_eval import events as ev
from tui_eval.commands import Cancel, Command, Rerun, Save, SaveAs, SetMaxConcurrent, Subscribe
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.run.steering import next_max_concurrent

CONTROLS = (Cancel, Rerun, SetMaxConcurrent, Save, SaveAs)


def requested(feed: Any) -> list[Command]:
    return [command for command in feed.sent if isinstance(command, CONTROLS)]


async def test_a_rollout_is_cancelled_once_somebody_says_yes() -> None:
    async with staged_app(running()) as stage:
        await stage.press("K", "escape")
        assert requested(stage.feed) == []
        await stage.press("2", "K")
        assert "yes, cancel it" in question(stage)
        await stage.press("y")
        assert requested(stage.feed) == [Cancel(SELECTED)]
        await stage.publish(ev.CommandAnswered(0, NOW, "Cancelled; it runs again."))
        assert "Cancelled; it runs again." in said(stage)
        await stage.press("g", "1", "g", "K")
        assert "has finished" in said(stage)


async def test_a_rollout_that_finishes_meanwhile_is_not_cancelled() -> None:
    async with staged_app(running()) as stage:
        await stage.press("K")
        await stage.publish(finished(SELECTED))
        assert "has finished" in question(stage)
        await stage.press("y")
        assert "has finished" in question(stage)
        await stage.press("escape")
        assert requested(stage.feed) == []


async def test_what_runs_again_is_counted_as_long_as_the_question_is_open() -> None:
    async with staged_app(running()) as stage:
        await stage.press("g", "e", "R")
        row = stage.live.rollouts.row
        assert "all 2 errored" in question(stage)
        await stage.publish(failed(35, "ModelError -> APITimeoutError"))
        assert "all 3 errored" in question(stage)
        await stage.press("o")
        assert requested(stage.feed) == [Rerun([row])]


async def test_errored_rollouts_run_again_alone_by_their_error_or_all_of_them() -> None:
    feed = running()
    feed.events.append(failed(35, "ModelError -> APITimeoutError"))
    async with staged_app(feed) as stage:
        await stage.press("g", "e", "R")
        assert "only this one" in question(stage)
        assert "ZeroDivisionError, 2 rollouts" in question(stage)
        assert "all 3 errored" in question(stage)
        await stage.press("o", "R", "t", "R", "a")
        row = stage.live.rollouts.row
        error = "ToolCallError -> ZeroDivisionError"
        assert requested(feed) == [Rerun([row]), Rerun([], error), Rerun()]
        assert row in ERRORS


async def test_the_error_under_the_cursor_of_the_numbers_is_the_one_in_question() -> None:
    feed = running()
    feed.events.append(failed(35, "ModelError -> APITimeoutError"))
    async with staged_app(feed) as stage:
        await stage.press("3", "z")
        numbers = stage.live.numbers
        for _ in range(60):
            if numbers.cursor == ("error", "ModelError -> APITimeoutError"):
                break
            await stage.press("j")
        await stage.press("R")
        assert "APITimeoutError, 1 rollout" in question(stage)
        assert "only this one" not in question(stage)
        await stage.press("t")
        assert requested(feed) == [Rerun([], "ModelError -> APITimeoutError")]


async def test_a_row_that_is_taken_back_waits_again_and_its_trajectory_is_the_new_one() -> None:
    feed = running()
    row = ERRORS[0]
    feed.trajectories[row] = [
        ev.MessagesAdded(0, NOW, row, 1, 0, 1, [{"role": "user", "content": "New"}])
    ]
    async with staged_app(feed) as stage:
        stage.live.rollouts.select(row)
        await stage.until(
            lambda: stage.live.trajectory.rollout and stage.live.trajectory.rollout.finished
        )
        await stage.publish(ev.RowsTakenBack(0, NOW, [failed(row)]))
        assert "✗ 1 error" in stage.text(stage.live.header)
        assert stage.live.state.waiting == len(range(35, 48)) + 1
        assert stage.feed.sent[-1] == Subscribe([row])
        await stage.until(lambda: "New" in stage.text(stage.live.trajectory))
        stage.feed.rows[row] = saved_row(row)
        await stage.publish(staged(row, ev.Stage.MODEL), finished(row))
        await stage.until(lambda: "2412 whole candles" in stage.text(stage.live.trajectory))


async def test_the_limit_is_shown_at_once_and_stays_for_a_while() -> None:
    async with staged_app(running(), size=(140, 40)) as stage:
        await stage.press("+")
        assert requested(stage.feed) == [SetMaxConcurrent(6)]
        assert "limit 4 → 6" in stage.text(stage.live.header)
        await stage.press("+")
        assert requested(stage.feed)[1:] == [SetMaxConcurrent(8)]
        await stage.publish(ev.MaxConcurrentChanged(0, NOW, 8, 4))
        assert "limit 4 → 8" in stage.text(stage.live.header)
        stage.clock = NOW + 11
        await stage.publish(staged(36, ev.Stage.MODEL))
        assert "limit" not in stage.text(stage.live.header)
        await stage.press("-", "-", "-", "-", "-", "-", "-", "-")
        assert requested(stage.feed)[-1] == SetMaxConcurrent(1)
        assert "1 is the least that max_concurrent can be" in said(stage)
        await stage.publish(ev.MaxConcurrentChanged(0, NOW, 1, 8))
        assert "limit 8 → 1" in stage.text(stage.live.header), "more than one still are"


async def test_a_limit_that_was_moved_gives_way_to_how_it_gives_way() -> None:
    """Rollouts that sleep are in flight no more."""
    feed = ScriptedFeed(throttled_events(), saved_rows())
    async with staged_app(feed, size=(140, 40)) as stage:
        await stage.publish(ev.MaxConcurrentChanged(0, NOW, 4, 16))
        assert "limit 16 → 4" in stage.text(stage.live.header)
        stage.clock = NOW + 11
        await stage.publish(staged(30, ev.Stage.MODEL))
        assert stage.live.state.running == 5 and stage.live.state.sleeping == 1
        header = stage.text(stage.live.header)
        assert "limit 16 → 4" not in header and "31 requests refused" in header


async def test_a_run_whose_disk_refuses_is_saved_elsewhere_by_its_engine() -> None:
    feed = ScriptedFeed(refused_events())
    async with staged_app(feed) as stage:
        await stage.until(lambda: "No space left" in said(stage))
        assert "‖ paused: no space left" in stage.text(stage.live.header)
        await stage.press("C", "ctrl+u", *"/other", "enter")
        assert requested(feed) == [SaveAs("/other")]
        await stage.publish(
            ev.RunMoved(0, NOW, "/other", True),
            ev.CommandAnswered(0, NOW, "The run continues in /other."),
            ev.WritingMoved(0, NOW, ""),
            ev.GateMoved(0, NOW, True, 0),
        )
        assert "The run continues in /other." in said(stage)
        assert "▶ running" in stage.text(stage.live.header)
        assert stage.live.state.run is not None and stage.live.state.run.path == "/other"
        await stage.publish(ev.WritingMoved(0, NOW, "it is gone", "/other", "Put it back there"))
        await stage.publish(ev.WritingMoved(0, NOW, ""))
        assert "The disk takes writes again" in said(stage)


async def test_without_a_limit_there_is_nothing_to_raise_but_it_can_be_lowered() -> None:
    _, *events = running_events()
    feed = ScriptedFeed([run_started(max_concurrent=0), *events], saved_rows())
    async with staged_app(feed) as stage:
        await stage.press("+")
        assert "no limit that could be raised" in said(stage)
        await stage.press("-")
        assert requested(feed) == [SetMaxConcurrent(4)]


@pytest.mark.parametrize(("now", "greater", "smaller"), [(1, 2, 1), (2, 3, 1), (4, 6, 3),
                         (16, 24, 12), (20, 24, 16), (1000, 1024, 768)])  # fmt: skip
def test_limits_go_in_steps_that_people_would_choose(now: int, greater: int, smaller: int) -> None:
    assert (next_max_concurrent(now, 1), next_max_concurrent(now, -1)) == (greater, smaller)


@pytest.mark.parametrize("key", ["+", "-"])
async def test_the_limit_of_a_run_that_is_not_known_yet_is_not_moved(key: str) -> None:
    feed = ScriptedFeed(starts=False)
    async with TuiEvalApp(feed, now=lambda: NOW).run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        assert str(pilot.app.live_screen.keys.message) == "Not yet: the run is still loading."
        assert requested(feed) == []


async def test_saving_now_commands_the_engine_and_needs_none_once_the_run_is_over() -> None:
    async with staged_app(running()) as stage:
        await stage.press("ctrl+s")
        assert requested(stage.feed) == [Save()]
    async with staged_app(over()) as stage:
        await stage.press("ctrl+s")
        assert requested(stage.feed) == []
        assert "on the disk already" in said(stage)


async def test_what_a_finished_run_cannot_do_is_said() -> None:
    feed = ScriptedFeed([run_started(), *map(finished, range(48)), all_events()[-1]], live=False)
    async with staged_app(feed) as stage:
        for key, why in (("K", "has ended"), ("R", "No rollout has errored"), ("+", "has ended")):
            await stage.press(key)
            assert why in said(stage)
        assert requested(feed) == []


@pytest.mark.slow
async def test_the_limit_of_a_suite_is_that_of_all_its_evaluations() -> None:
    async with staged_suite() as stage:
        stage.app.suite.started.max_concurrent = 32
        await stage.press("+")
        assert requested(stage.feed) == [SetMaxConcurrent(48)]
        assert "max_concurrent is 48" in said(stage)
        await stage.publish(ev.MaxConcurrentChanged(0, NOW, 48, 32))
        assert stage.app.suite.started.max_concurrent == 48
        await stage.press("ctrl+s")
        assert requested(stage.feed)[1:] == [Save()]


async def test_the_palette_knows_every_command() -> None:
    async with staged_app(running()) as stage:
        found = {one.title for one in stage.app.get_system_commands(stage.app.screen)}
        for command in ("Cancel the selected rollout", "Run errored or missing",
                        "Raise the concurrency", "Lower the concurrency",
                        "Write all of it", "Save the run as", "Errors only", "Filter the rollouts",
                        "Sort by a column", "Sort the other way", "Choose the columns",
                        "Keep examples together"):  # fmt: skip
            assert any(title.startswith(command) for title in found)

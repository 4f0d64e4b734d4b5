from __future__ import annotations

import re
import threading

import pytest
from app_driver import seen, until
from scripted_conversation import conversation, ending_messages
from scripted_rows import failed_row
from scripted_run import (
    ERRORS,
    NOW,
    SELECTED,
    TOTAL,
    ScriptedFeed,
    all_events,
    failed,
    finished,
    run_started,
    staged,
)
from staging import Stage, over, running, staged_app

from tui_eval import events as ev
from tui_eval.commands import Pause, Subscribe, Unpause
from tui_eval.fold.trajectory import Rollout
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.prompts import Leave


def subscriptions(feed: ScriptedFeed) -> list[list[int]]:
    return [command.rows for command in feed.sent if isinstance(command, Subscribe)]


async def test_a_followed_rollout_is_subscribed_and_its_tool_calls_stand_with_results() -> None:
    async with staged_app(running()) as stage:
        await stage.until(lambda: "multiply" in stage.text(stage.live.trajectory))
        assert subscriptions(stage.feed) == [[SELECTED]]
        shown = stage.text(stage.live.trajectory)
        assert "multiply(a=14, b=36) → 504" in shown
        assert "ZeroDivisionError: cannot divide" in shown
        assert "▶ running" in shown


@pytest.mark.parametrize(
    ("live", "output", "other"),
    [(True, "starting engine…", "reading"), (False, "reading…", "engine")],
)
async def test_before_the_first_event_a_file_is_read_and_an_engine_starts(
    live: bool, output: str, other: str
) -> None:
    stage = Stage(ScriptedFeed(live=live, starts=False))
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.pilot.pause()
        text = stage.text(stage.live.header) + stage.text(stage.live.rollouts)
        assert output in text and other not in text


async def test_the_selection_survives_updates() -> None:
    async with staged_app(running()) as stage:
        await stage.press("g", "j", "j")
        assert stage.live.rollouts.row == 2
        await stage.publish(*(finished(row) for row in range(32, 40)))
        assert stage.live.rollouts.row == 2
        assert stage.live.reader.row == 2
        assert stage.live.rollouts.scroll_offset.y == 0


async def test_moving_stops_following_and_the_pill_counts_what_finished() -> None:
    async with staged_app(running()) as stage:
        assert stage.live.follower.on
        await stage.press("k")
        assert not stage.live.follower.on
        await stage.publish(*(finished(row) for row in range(32, 40)))
        assert "▼ 8 new" in stage.text(stage.live.rollouts)
        await stage.press("G")
        assert stage.live.follower.on
        assert "new" not in stage.text(stage.live.rollouts)


async def test_following_watches_a_rollout_to_its_end_before_it_moves_on() -> None:
    async with staged_app(running()) as stage:
        await stage.publish(staged(36, ev.Stage.MODEL))
        assert stage.live.rollouts.row == SELECTED
        await stage.publish(finished(SELECTED))
        await stage.until(lambda: stage.live.reader.rollout.finished)
        assert stage.live.rollouts.row == SELECTED
        stage.clock += 2
        await stage.until(lambda: stage.live.rollouts.row == 36)


async def test_what_is_chosen_between_two_ticks_stays_chosen() -> None:
    async with staged_app(running()) as stage:
        await stage.publish(staged(36, ev.Stage.MODEL), finished(SELECTED))
        await stage.until(lambda: stage.live.reader.rollout.finished)
        stage.live.rollouts.select(3)
        stage.clock += 2
        stage.live.refresh_run()
        await stage.pilot.pause()
        assert stage.live.rollouts.row == 3
        assert not stage.live.follower.on


@pytest.mark.parametrize("by_mouse", [False, True])
async def test_opening_the_followed_rollout_ends_the_following(by_mouse: bool) -> None:
    async with staged_app(running()) as stage:
        rollouts = stage.live.rollouts
        y = rollouts.line_selected - rollouts.scroll_offset.y + rollouts.heads
        if by_mouse:
            await stage.pilot.click(rollouts, offset=(6, y + 1))
        else:
            await stage.press("enter")
        await stage.until(lambda: stage.app.focused is stage.live.trajectory)
        assert not stage.live.follower.on
        assert rollouts.row == SELECTED


async def test_scrolling_back_in_the_trajectory_freezes_the_view_and_counts_new_pieces() -> None:
    async with staged_app(running(), size=(120, 24)) as stage:
        await stage.until(lambda: stage.live.trajectory.count() > 20)
        await stage.press("2", "ctrl+u")
        assert not stage.live.follower.on
        at = stage.live.trajectory.scroll_offset.y
        messages = ending_messages()
        await stage.publish(ev.MessagesAdded(0, NOW, SELECTED, 1, 9, 2, messages))
        assert stage.live.trajectory.scroll_offset.y == at
        assert "▼ 4 new" in stage.text(stage.live.trajectory)
        await stage.press("G")
        assert stage.live.trajectory.at_end
        await stage.until(lambda: "▼" not in stage.text(stage.live.trajectory))


async def test_a_rollout_that_finishes_is_read_from_disk_and_the_view_stays() -> None:
    async with staged_app(running(), size=(120, 24)) as stage:
        await stage.until(lambda: stage.live.trajectory.count() > 20)
        await stage.press("2", "ctrl+u")
        at, before = stage.live.trajectory.scroll_offset.y, stage.text(stage.live.trajectory)
        await stage.publish(finished(SELECTED))
        await stage.until(lambda: stage.live.reader.rollout.finished)
        assert stage.feed.read[-1] == SELECTED
        assert stage.live.trajectory.scroll_offset.y == at
        first = before.splitlines()[1]
        assert stage.text(stage.live.trajectory).splitlines()[1] == first
        assert subscriptions(stage.feed)[-1] == []


async def test_going_back_to_a_finished_rollout_reads_nothing_again() -> None:
    async with staged_app(over()) as stage:
        await stage.press("j")
        await stage.until(lambda: stage.feed.read == [0, 1])
        await stage.until(lambda: not stage.live.reader.must_read)
        await stage.press("k")
        await stage.pilot.pause()
        assert stage.live.reader.rollout.row == 0
        assert stage.feed.read == [0, 1]


async def test_a_row_that_cannot_be_read_says_so() -> None:
    feed = ScriptedFeed(all_events(), {}, live=False)
    async with staged_app(feed) as stage:
        await stage.until(lambda: "cannot be read back" in stage.text(stage.live.trajectory))
        assert feed.read == [0]


async def test_space_pauses_and_resumes_the_engine() -> None:
    async with staged_app(running()) as stage:
        await stage.press("space")
        assert isinstance(stage.feed.sent[-1], Pause)
        assert "pausing…" in stage.text(stage.live.header)
        await stage.publish(ev.GateMoved(0, NOW, False, 3))
        assert "pausing… 3 in flight" in stage.text(stage.live.header)
        held = [staged(row, ev.Stage.HELD) for row in (32, 33)]
        await stage.publish(ev.GateMoved(0, NOW, False, 0), *held)
        assert "‖ paused" in stage.text(stage.live.header)
        assert "‖ 2 held  ▶ 3 running" in stage.text(stage.live.header)
        assert "space resume" in stage.text(stage.live.keys)
        await stage.press("space")
        assert isinstance(stage.feed.sent[-1], Unpause)
        await stage.publish(ev.GateMoved(0, NOW, True, 0))
        assert "running" in stage.text(stage.live.header)


async def test_a_run_that_ended_cannot_be_paused() -> None:
    async with staged_app(over()) as stage:
        await stage.press("space")
        assert stage.feed.sent == []
        assert "nothing to pause" in stage.text(stage.live.keys)


async def test_tool_calls_fold_and_unfold() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        await stage.press("2", "t")
        assert "▾ note" in stage.text(stage.live.trajectory)
        assert "five days 2520" in stage.text(stage.live.trajectory)
        await stage.press("t")
        assert "▸ note(text=" in stage.text(stage.live.trajectory)
        await stage.press("g", "j", "j", "j")
        assert "▸ multiply(a=14" in stage.text(stage.live.trajectory)
        await stage.press("enter")
        shown = stage.text(stage.live.trajectory)
        assert "▾ multiply" in shown
        assert "a = 14" in shown
        await stage.press("h")
        assert "▸ multiply(a=14" in stage.text(stage.live.trajectory)


async def test_a_click_on_a_tool_call_unfolds_it() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        lines = stage.text(stage.live.trajectory).splitlines()
        y = next(at for at, line in enumerate(lines) if "▸ multiply(a=14" in line)
        await stage.pilot.click("#trajectory", offset=(8, y + 1))
        await stage.until(lambda: "a = 14" in stage.text(stage.live.trajectory))


async def test_a_long_system_prompt_is_folded_until_it_is_wanted() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        assert "more lines" in stage.text(stage.live.trajectory)
        assert "<answer></answer>" not in stage.text(stage.live.trajectory)
        await stage.press("2", "enter")
        assert "<answer></answer>" in stage.text(stage.live.trajectory)
        await stage.press("enter")
        assert "<answer></answer>" not in stage.text(stage.live.trajectory)


async def test_e_walks_through_the_errors_and_around_the_end() -> None:
    async with staged_app(over()) as stage:
        visited = []
        for _ in range(3):
            await stage.press("e")
            visited.append(stage.live.rollouts.row)
        assert visited == [*ERRORS, ERRORS[0]]
        await stage.press("E")
        assert stage.live.rollouts.row == ERRORS[1]
        await stage.until(lambda: "Traceback" in stage.text(stage.live.trajectory))


async def test_where_only_the_listed_ones_have_no_error_e_says_so() -> None:
    async with staged_app(over()) as stage:
        stage.live.rollouts.filter_by("state:done")
        await stage.until(lambda: stage.live.rollouts.count() == TOTAL - len(ERRORS))
        await stage.press("e")
        await stage.until(lambda: "No listed rollout has errored." in seen(stage.app))


async def test_brackets_turn_to_another_rollout_from_any_pane() -> None:
    async with staged_app(over()) as stage:
        await stage.press("3", "right_square_bracket", "right_square_bracket")
        assert stage.live.rollouts.row == 2
        await stage.press("left_square_bracket")
        assert stage.live.rollouts.row == 1
        assert stage.live.focused is stage.live.numbers


async def test_the_palette_runs_commands() -> None:
    async with staged_app(running()) as stage:
        await stage.press("colon")
        await stage.press(*"pause the")
        await stage.until(lambda: stage.app.screen.query("CommandList").first().display)
        await stage.pilot.pause(0.3)
        await stage.press("enter", "enter")
        await stage.until(lambda: any(isinstance(c, Pause) for c in stage.feed.sent))


async def test_a_second_attempt_restarts_the_trajectory() -> None:
    async with staged_app(running()) as stage:
        await stage.until(lambda: stage.live.trajectory.count() > 10)
        again = ev.MessagesAdded(0, NOW, SELECTED, 2, 0, 2, conversation()[:2])
        await stage.publish(again, staged(SELECTED, ev.Stage.MODEL, attempt=2))
        await stage.until(lambda: "assistant" not in stage.text(stage.live.trajectory))
        assert "attempt 2" in str(stage.live.trajectory.border_title)


async def test_a_run_that_failed_says_why_and_nothing_runs_in_it() -> None:
    async with staged_app(running(), size=(120, 40)) as stage:
        why = "the engine was killed (signal 9, SIGKILL; often: out of memory)"
        await stage.publish(ev.RunFinished(0, NOW, "failed", 1, why))
        assert f"✗ {why[:30]}" in stage.text(stage.live.numbers)
        assert "running" not in stage.text(stage.live.header)
        assert "▶" not in stage.text(stage.live.rollouts)
        waiting = [line for line in stage.text(stage.live.rollouts).splitlines() if " · " in line]
        assert waiting
        assert not any(re.search(r"\d+s\b", line) for line in waiting), "no clock runs"
        assert "3 says why" in stage.text(stage.live.keys)
        assert "R resumes it." in stage.text(stage.live.keys)


async def test_a_tick_that_comes_after_the_end_draws_nothing() -> None:
    async with staged_app(over()) as stage:
        pass
    stage.feed.events.append(ev.Noticed(0, NOW, "warning", "too late"))
    stage.app.tick()


async def test_a_run_that_is_gone_when_it_is_opened_has_failed_and_says_why() -> None:
    feed = ScriptedFeed([], live=False)

    async def gone() -> None:
        raise FileNotFoundError("results.jsonl is gone")

    feed.start = gone
    app = TuiEvalApp(feed)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.return_value)
    assert app.return_value == Leave("closed")
    assert app.state.end is not None
    assert app.state.end.text == "this run cannot be read: results.jsonl is gone"


async def test_a_slow_disk_is_read_once_and_the_result_is_shown() -> None:
    feed, gate = running(), threading.Event()
    read = feed.saved

    def slowly(row: int, offset: int, length: int) -> Rollout | None:
        found = read(row, offset, length)
        gate.wait(60)
        return found

    feed.saved = slowly
    async with staged_app(feed) as stage:
        await stage.press("g")
        for row in range(35, 39):
            await stage.publish(finished(row))
        assert feed.read == [0]
        gate.set()
        await stage.until(lambda: "assistant" in stage.text(stage.live.trajectory))
        assert feed.read == [0]


@pytest.mark.parametrize("frames", [3, 60])
async def test_what_failed_opens_at_its_error_however_long_the_traceback_is(frames: int) -> None:
    row = failed_row(0)
    row["tui_eval"]["traceback"] = "\n".join(f"  File {n}.py, line {n}" for n in range(frames))
    start = run_started(total=4, num_examples=1)
    async with staged_app(ScriptedFeed([start, failed(0)], {0: row}), size=(80, 24)) as stage:
        await stage.press("g", "enter")
        await stage.until(lambda: "File 1.py" in stage.text(stage.live.trajectory))
        assert "✗ tool error" in stage.text(stage.live.trajectory)
        assert "ToolCallError: Tool" in stage.text(stage.live.trajectory)

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from scenes import (
    ERRORS,
    NOW,
    SELECTED,
    TOTAL,
    ScriptedFeed,
    all_events,
    conversation,
    ending_messages,
    finished,
    run_started,
    running_events,
    saved_row,
    saved_rows,
    staged,
    story,
)
from textual.pilot import Pilot

from tui_eval import events as ev
from tui_eval.fold.transcript import Rollout
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.leaving import Leave
from tui_eval.tui.screens.question import Question
from tui_eval.tui.widgets.line_view import LineView


class Stage:
    """A running app with what a test wants to look at."""

    pilot: Pilot[Any]

    def __init__(self, feed: ScriptedFeed, saved: bool) -> None:
        self.feed = feed
        self.clock = NOW
        self.app = TuiEvalApp(feed, now=lambda: self.clock, saved=saved)
        self.live = self.app.live_screen

    async def until(self, condition: Callable[[], Any]) -> None:
        for _ in range(300):
            await self.pilot.pause(0.01)
            if condition():
                return
        raise AssertionError("this never came about")

    async def tell(self, *events: ev.Event) -> None:
        self.feed.events += events
        await self.until(lambda: not self.feed.events)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def text(self, view: LineView) -> str:
        return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


@asynccontextmanager
async def staged_app(
    feed: ScriptedFeed, *, saved: bool = True, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Stage]:
    stage = Stage(feed, saved)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: not feed.events and not stage.live.reader.must_read)
        yield stage


def running() -> ScriptedFeed:
    return ScriptedFeed(running_events(), saved_rows(), stories={SELECTED: story()})


def over() -> ScriptedFeed:
    return ScriptedFeed(all_events(), saved_rows(), live=False)


def subscriptions(feed: ScriptedFeed) -> list[list[int]]:
    return [command.rows for command in feed.sent if isinstance(command, ev.Subscribe)]


async def test_a_followed_rollout_is_subscribed_and_its_tool_calls_stand_with_results() -> None:
    async with staged_app(running()) as stage:
        await stage.until(lambda: "multiply" in stage.text(stage.live.story))
        assert subscriptions(stage.feed) == [[SELECTED]]
        shown = stage.text(stage.live.story)
        assert "multiply(a=14, b=36) → 504" in shown
        assert "ZeroDivisionError: cannot divide" in shown
        assert "▶ running" in shown


async def test_the_selection_survives_updates() -> None:
    async with staged_app(running()) as stage:
        await stage.press("g", "j", "j")
        assert stage.live.rollouts.row == 2
        await stage.tell(*(finished(row) for row in range(32, 40)))
        assert stage.live.rollouts.row == 2
        assert stage.live.reader.row == 2
        assert stage.live.rollouts.scroll_offset.y == 0


async def test_moving_stops_following_and_the_pill_counts_what_finished() -> None:
    async with staged_app(running()) as stage:
        assert stage.live.follower.on
        await stage.press("k")
        assert not stage.live.follower.on
        await stage.tell(*(finished(row) for row in range(32, 40)))
        assert "▼ 8 new" in stage.text(stage.live.rollouts)
        await stage.press("G")
        assert stage.live.follower.on
        assert "new" not in stage.text(stage.live.rollouts)


async def test_following_watches_a_rollout_to_its_end_before_it_goes_on() -> None:
    async with staged_app(running()) as stage:
        await stage.tell(staged(36, ev.Stage.MODEL))
        assert stage.live.rollouts.row == SELECTED
        await stage.tell(finished(SELECTED))
        await stage.until(lambda: stage.live.reader.rollout.finished)
        assert stage.live.rollouts.row == SELECTED
        stage.clock += 2
        await stage.until(lambda: stage.live.rollouts.row == 36)


async def test_scrolling_back_in_the_trajectory_freezes_the_view_and_counts_new_pieces() -> None:
    async with staged_app(running(), size=(120, 24)) as stage:
        await stage.until(lambda: stage.live.story.count() > 20)
        await stage.press("2", "ctrl+u")
        assert not stage.live.follower.on
        at = stage.live.story.scroll_offset.y
        messages = ending_messages()
        await stage.tell(ev.MessagesAdded(0, NOW, SELECTED, 1, 9, 2, messages))
        assert stage.live.story.scroll_offset.y == at
        assert "▼ 4 new" in stage.text(stage.live.story)
        await stage.press("G")
        assert stage.live.story.at_end
        await stage.until(lambda: "▼" not in stage.text(stage.live.story))


async def test_a_rollout_that_finishes_is_read_from_disk_and_the_view_stays() -> None:
    async with staged_app(running(), size=(120, 24)) as stage:
        await stage.until(lambda: stage.live.story.count() > 20)
        await stage.press("2", "ctrl+u")
        at, before = stage.live.story.scroll_offset.y, stage.text(stage.live.story)
        await stage.tell(finished(SELECTED))
        await stage.until(lambda: stage.live.reader.rollout.finished)
        assert stage.feed.read[-1] == SELECTED
        assert stage.live.story.scroll_offset.y == at
        first = before.splitlines()[1]
        assert stage.text(stage.live.story).splitlines()[1] == first
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
        await stage.until(lambda: "cannot be read back" in stage.text(stage.live.story))
        assert feed.read == [0]


async def test_space_pauses_and_resumes_the_engine() -> None:
    async with staged_app(running()) as stage:
        await stage.press("space")
        assert isinstance(stage.feed.sent[-1], ev.Pause)
        assert "pausing…" in stage.text(stage.live.header)
        await stage.tell(ev.GateMoved(0, NOW, False, 3))
        assert "pausing… 3 in flight" in stage.text(stage.live.header)
        await stage.tell(ev.GateMoved(0, NOW, False, 0))
        assert "PAUSED" in stage.text(stage.live.header)
        assert "space resume" in stage.text(stage.live.keys)
        await stage.press("space")
        assert isinstance(stage.feed.sent[-1], ev.Resume)
        await stage.tell(ev.GateMoved(0, NOW, True, 0))
        assert "running" in stage.text(stage.live.header)


async def test_a_run_that_ended_cannot_be_paused() -> None:
    async with staged_app(over()) as stage:
        await stage.press("space")
        assert stage.feed.sent == []
        assert "nothing to pause" in stage.text(stage.live.keys)


@pytest.mark.parametrize(
    ("key", "command", "leave"),
    [("s", ev.Stop, Leave("stop")), ("d", ev.Detach, Leave("detach"))],
)
async def test_quitting_a_running_run_asks_what_becomes_of_it(
    key: str, command: type, leave: Leave
) -> None:
    async with staged_app(running()) as stage:
        await stage.press("q")
        assert isinstance(stage.app.screen, Question)
        await stage.press("escape")
        assert stage.app.screen is stage.live
        await stage.press("q", key)
    assert stage.feed.closed
    assert stage.app.return_value == leave
    assert isinstance(stage.feed.sent[-1], command)


@pytest.mark.parametrize(
    ("key", "leave"), [("y", Leave("closed", save=True)), ("n", Leave("closed"))]
)
async def test_leaving_an_unsaved_run_asks_whether_to_keep_it(key: str, leave: Leave) -> None:
    async with staged_app(over(), saved=False) as stage:
        await stage.press("q")
        assert isinstance(stage.app.screen, Question)
        await stage.press(key)
    assert stage.app.return_value == leave


async def test_a_saved_run_that_ended_is_left_without_a_question() -> None:
    async with staged_app(over()) as stage:
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")
    assert stage.feed.sent == []


async def test_ctrl_c_asks_first_and_stops_the_second_time() -> None:
    async with staged_app(running()) as stage:
        await stage.press("ctrl+c")
        assert isinstance(stage.app.screen, Question)
        await stage.press("ctrl+c")
    assert stage.app.return_value == Leave("stop")
    assert isinstance(stage.feed.sent[-1], ev.Stop)


async def test_ctrl_q_stops_and_leaves_at_once() -> None:
    async with staged_app(running()) as stage:
        await stage.press("ctrl+q")
    assert stage.app.return_value == Leave("stop")
    assert isinstance(stage.feed.sent[-1], ev.Stop)


async def test_a_refusal_closes_the_app() -> None:
    feed = ScriptedFeed([ev.Refused(0, [("-m", "unknown model", "")])])
    app = TuiEvalApp(feed, now=lambda: NOW)
    async with app.run_test() as pilot:
        for _ in range(300):
            if app.return_value is not None:
                break
            await pilot.pause(0.01)
    assert app.return_value == Leave("closed")
    assert app.state.refused == [("-m", "unknown model", "")]


async def test_a_run_that_ends_stays_open_for_reading() -> None:
    async with staged_app(running()) as stage:
        await stage.tell(ev.RunFinished(0, NOW, "interrupted", 130))
        assert "interrupted, resumable" in stage.text(stage.live.header)
        await stage.press("g")
        assert stage.live.rollouts.row == 0


async def test_tool_calls_fold_and_unfold() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        await stage.press("2", "t")
        assert "▾ note" in stage.text(stage.live.story)
        assert "five days 2520" in stage.text(stage.live.story)
        await stage.press("t")
        assert "▸ note(text=" in stage.text(stage.live.story)
        await stage.press("g", "j", "j", "j")
        assert "▸ multiply(a=14" in stage.text(stage.live.story)
        await stage.press("enter")
        shown = stage.text(stage.live.story)
        assert "▾ multiply" in shown
        assert "a = 14" in shown
        await stage.press("h")
        assert "▸ multiply(a=14" in stage.text(stage.live.story)


async def test_a_click_on_a_tool_call_unfolds_it() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        lines = stage.text(stage.live.story).splitlines()
        y = next(at for at, line in enumerate(lines) if "▸ multiply(a=14" in line)
        await stage.pilot.click("#story", offset=(8, y + 1))
        await stage.until(lambda: "a = 14" in stage.text(stage.live.story))


async def test_a_long_system_prompt_is_folded_until_it_is_wanted() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        assert "more lines" in stage.text(stage.live.story)
        assert "<answer></answer>" not in stage.text(stage.live.story)
        await stage.press("2", "enter")
        assert "<answer></answer>" in stage.text(stage.live.story)
        await stage.press("enter")
        assert "<answer></answer>" not in stage.text(stage.live.story)


async def test_e_walks_through_the_errors_and_around_the_end() -> None:
    async with staged_app(over()) as stage:
        visited = []
        for _ in range(3):
            await stage.press("e")
            visited.append(stage.live.rollouts.row)
        assert visited == [*ERRORS, ERRORS[0]]
        await stage.press("E")
        assert stage.live.rollouts.row == ERRORS[1]
        await stage.until(lambda: "Traceback" in stage.text(stage.live.story))


async def test_brackets_turn_to_another_rollout_from_any_pane() -> None:
    async with staged_app(over()) as stage:
        await stage.press("3", "right_square_bracket", "right_square_bracket")
        assert stage.live.rollouts.row == 2
        await stage.press("left_square_bracket")
        assert stage.live.rollouts.row == 1
        assert stage.live.focused is stage.live.numbers


async def test_a_narrow_screen_shows_the_pane_with_the_focus() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        live = stage.live
        assert [p.id for p in (live.rollouts, live.story, live.numbers) if p.region] == ["rollouts"]
        await stage.press("tab")
        await stage.until(lambda: live.story.region)
        assert not live.rollouts.region
        await stage.press("3")
        await stage.until(lambda: live.numbers.region and live.reward.region)
        await stage.press("escape")
        await stage.until(lambda: live.focused is live.rollouts)


async def test_the_palette_runs_commands() -> None:
    async with staged_app(running()) as stage:
        await stage.press("colon")
        await stage.press(*"pause the")
        await stage.until(lambda: stage.app.screen.query("CommandList").first().display)
        await stage.pilot.pause(0.3)
        await stage.press("enter", "enter")
        await stage.until(lambda: any(isinstance(c, ev.Pause) for c in stage.feed.sent))


async def test_a_tick_with_nothing_new_draws_nothing() -> None:
    async with staged_app(over()) as stage:
        await stage.pilot.pause(0.2)
        views = list(stage.app.screen.query(LineView))
        before = [view.asked for view in views]
        for _ in range(10):
            stage.app.tick()
            await stage.pilot.pause()
        assert [view.asked for view in views] == before


async def test_one_changed_row_draws_one_line() -> None:
    async with staged_app(running()) as stage:
        await stage.pilot.pause(0.2)
        before = stage.live.rollouts.asked
        await stage.tell(staged(32, ev.Stage.TOOL, at=NOW - 4.2, turns=1, tool_calls=1))
        assert stage.live.rollouts.asked - before <= 2


async def test_ten_thousand_rows_draw_only_what_can_be_seen() -> None:
    rows = 10_000
    start = run_started(num_examples=2_500, total=rows)
    feed = ScriptedFeed([start, *(finished(row) for row in range(rows))], saved_rows())
    async with staged_app(feed) as stage:
        assert stage.app.state.finished == rows
        assert stage.live.rollouts.count() == rows
        drawn = stage.live.rollouts.built
        assert drawn < 40 * 40
        await stage.press("G")
        assert "running" not in stage.text(stage.live.keys)
        assert stage.live.rollouts.built - drawn < 200


async def test_a_second_attempt_starts_the_story_anew() -> None:
    async with staged_app(running()) as stage:
        await stage.until(lambda: stage.live.story.count() > 10)
        again = ev.MessagesAdded(0, NOW, SELECTED, 2, 0, 2, conversation()[:2])
        await stage.tell(again, staged(SELECTED, ev.Stage.MODEL, attempt=2))
        await stage.until(lambda: "assistant" not in stage.text(stage.live.story))
        assert "attempt 2" in str(stage.live.story.border_title)


async def test_reward_functions_that_failed_say_how() -> None:
    row = saved_row(0)
    row["tui_eval"]["scores"][1] |= {"raw": None, "error": "ValueError: no number in the answer"}
    feed = ScriptedFeed(all_events(), {0: row}, live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        await stage.until(lambda: "no number" in stage.text(stage.live.reward))
        shown = stage.text(stage.live.reward)
        assert "✗ ValueError: no number in the answer" in shown
        assert "num_turns" in shown


async def test_numbers_show_mean_interval_and_what_was_left_out() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        shown = stage.text(stage.live.numbers)
        mean = stage.app.state.reward_mean.result()
        assert f"reward {mean.mean:.2f} [{mean.low:.2f}, {mean.high:.2f}]" in shown
        assert f"{TOTAL - len(ERRORS)} used · {len(ERRORS)} errored" in shown
        assert "pass@4" in shown
        assert "█" in shown
        assert "ToolCallError -> ZeroDivisionError" in shown
        assert "max_turns_reached" in shown


async def test_a_slow_disk_is_asked_once_and_its_answer_is_shown() -> None:
    feed, gate = running(), threading.Event()
    read = feed.saved

    def slowly(row: int, offset: int, length: int) -> Rollout | None:
        found = read(row, offset, length)
        gate.wait(10)
        return found

    feed.saved = slowly  # type: ignore[method-assign]
    async with staged_app(feed) as stage:
        await stage.press("g")
        for row in range(35, 39):
            await stage.tell(finished(row))
        assert feed.read == [0]
        gate.set()
        await stage.until(lambda: "assistant" in stage.text(stage.live.story))
        assert feed.read == [0]


@pytest.mark.parametrize("size", [(12, 5), (40, 10), (79, 8), (101, 12), (300, 90)])
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    async with staged_app(running(), size=size) as stage:
        for keys in ("1", "2", "3", "z", "question_mark", "escape", "q", "escape"):
            await stage.press(keys)


async def test_a_change_of_size_lays_everything_out_anew() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: not stage.live.story.region)
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: stage.live.numbers.region and stage.live.story.region)
        views = (stage.live.story, stage.live.numbers, stage.live.rollouts, stage.live.header)
        for view in views:
            lines = stage.text(view).splitlines()
            assert max(len(line) for line in lines) <= view.size.width
        assert "used · 2 errored" in stage.text(stage.live.numbers)


async def test_one_rollout_an_example_needs_no_braces() -> None:
    start = run_started(num_examples=TOTAL, rollouts_per_example=1)
    async with staged_app(ScriptedFeed([start, finished(0)], saved_rows())) as stage:
        assert "╭" not in stage.text(stage.live.rollouts)
        assert "pass@" not in stage.text(stage.live.numbers)

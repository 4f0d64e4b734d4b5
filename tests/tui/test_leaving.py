from __future__ import annotations

import pytest
from scripted_rows import saved_rows
from scripted_run import NOW, ScriptedFeed, all_events, finished, run_started, running_events
from staging import over, question, running, staged_app

from tui_eval import events as ev
from tui_eval.commands import Detach, Stop
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.dialogs.question import Question


@pytest.mark.parametrize(
    ("key", "command", "leave"),
    [("s", Stop, Leave("stop")), ("d", Detach, Leave("detach"))],
)
async def test_quitting_a_running_run_opens_a_question(
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


async def test_an_unsaved_run_that_ended_is_left_without_a_question() -> None:
    feed = ScriptedFeed(all_events(saved=False), saved_rows(), live=False)
    async with staged_app(feed) as stage:
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")


async def test_a_saved_run_that_ended_is_left_without_a_question() -> None:
    async with staged_app(over()) as stage:
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")
    assert stage.feed.sent == []


async def test_ctrl_c_opens_a_question_and_stops_the_second_time() -> None:
    async with staged_app(running()) as stage:
        await stage.press("ctrl+c")
        assert isinstance(stage.app.screen, Question)
        await stage.press("ctrl+c")
    assert stage.app.return_value == Leave("stop")
    assert isinstance(stage.feed.sent[-1], Stop)


async def test_ctrl_q_stops_and_leaves_at_once() -> None:
    async with staged_app(running()) as stage:
        await stage.press("ctrl+q")
    assert stage.app.return_value == Leave("stop")
    assert isinstance(stage.feed.sent[-1], Stop)


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
        await stage.publish(ev.RunFinished(0, NOW, "interrupted", 130))
        assert "stopped, resumable" in stage.text(stage.live.header)
        await stage.press("g")
        assert stage.live.rollouts.row == 0


async def test_leaving_between_the_last_rollout_and_the_end_of_the_run_needs_no_answer() -> None:
    *rows, end = all_events()
    async with staged_app(ScriptedFeed(rows, saved_rows())) as stage:
        await stage.press("q")
        assert stage.app.screen is stage.live
        assert stage.app.return_value is None
        stage.feed.events.append(end)
        await stage.until(lambda: stage.app.return_value is not None)
    assert stage.app.return_value == Leave("closed")
    assert not any(isinstance(command, Stop) for command in stage.feed.sent)


async def test_the_question_at_leaving_follows_the_run_while_nobody_answers() -> None:
    async with staged_app(running()) as stage:
        await stage.press("q")
        assert "30 of 48 rollouts are on disk" in question(stage)
        await stage.publish(finished(30), finished(32))
        assert "32 of 48 rollouts are on disk" in question(stage)


async def test_a_run_that_is_just_beginning_does_not_say_that_nothing_is_on_disk() -> None:
    async with staged_app(ScriptedFeed()) as stage:
        await stage.press("q")
        assert "how much is on disk is not known yet" in question(stage)


async def test_a_key_for_a_run_that_ended_before_it_was_pressed_does_nothing() -> None:
    async with staged_app(running()) as stage:
        await stage.press("q")
        await stage.publish(ev.RunFinished(0, NOW, "interrupted", 130))
        assert "The run has ended" in question(stage)
        await stage.press("s", "d")
        assert "The run has ended" in question(stage)
        await stage.press("enter")
        assert stage.app.screen is stage.live
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")
    assert not any(isinstance(one, Stop | Detach) for one in stage.feed.sent)


async def test_a_run_that_ended_during_a_question_is_left_from_the_question() -> None:
    async with staged_app(running()) as stage:
        await stage.press("q")
        await stage.publish(ev.RunFinished(0, NOW, "interrupted", 130))
        await stage.press("l")
    assert stage.app.return_value == Leave("closed")


async def test_an_unsaved_run_that_ends_during_a_question_can_be_saved() -> None:
    feed = ScriptedFeed([run_started(saved=False), *running_events()[1:]], saved_rows())
    async with staged_app(feed) as stage:
        await stage.press("q")
        assert "stop and save" in question(stage)
        await stage.publish(ev.RunFinished(0, NOW, "interrupted", 130))
        assert "Save this run?" in question(stage)
        await stage.press("u", "y")
    assert stage.app.return_value == Leave("closed", save=True)

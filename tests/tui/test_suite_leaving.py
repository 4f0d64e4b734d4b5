"""A suite that is paused, killed or over, and how it is left."""

from __future__ import annotations

import pytest
from scripted_run import NOW, ScriptedFeed, staged
from scripted_suite import RUNNING, Feeds, ended_events, moved, suite_events
from staging import Stage, question, staged_suite

from tui_eval import events as ev
from tui_eval.commands import Cancel, Detach, Pause, Stop, Subscribe, Unpause
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.dialogs.question import Question
from tui_eval.tui.suite.screen import SuiteScreen


@pytest.mark.parametrize("key", ["space", "p"])
async def test_pausing_concerns_the_whole_suite(key: str) -> None:
    async with staged_suite() as stage:
        await stage.press(key)
        assert stage.feed.sent == [Pause()]
        assert "‖ pausing…" in stage.text(stage.live.top)
        run = stage.feeds.feeds[0]
        run.events.append(ev.GateMoved(0, NOW, False, 3))
        await stage.until(lambda: "pausing… 3 in flight" in stage.text(stage.live.top))
        assert "pausing… 3 in flight" in stage.text(stage.live.header)
        run.events += [staged(row, ev.Stage.HELD) for row in (32, 34)]
        run.events.append(ev.GateMoved(0, NOW, False, 0))
        await stage.until(lambda: "‖ paused" in stage.text(stage.live.top))
        assert "‖ paused" in stage.text(stage.live.header)
        assert "‖ 2 held   ~ 1 sleeping   ▶ 2 running" in stage.text(stage.live.top)
        assert "‖ calculator" in stage.evaluations[RUNNING]
        await stage.press("g", key)
        assert stage.feed.sent == [Pause(), Unpause()]
        assert not any(isinstance(sent, Pause) for sent in stage.feeds.feeds[0].sent)


async def test_a_killed_engine_leaves_what_happened_and_how_to_resume() -> None:
    why = "the engine was killed (signal 9, SIGKILL; often: out of memory)"
    async with staged_suite() as stage:
        stage.feed.live = False
        await stage.publish(ev.RunFinished(0, NOW, "failed", 1, why))
        shown = stage.text(stage.live.top)
        assert "✗ failed after" in shown
        assert f"✗ {why}" in shown
        assert shown.count("R resumes it; leaving prints the command that does.") == 1
        assert stage.evaluations[RUNNING].split()[0] == "■"
        assert stage.evaluations[RUNNING].endswith("cut off")
        assert stage.evaluations[2].endswith("not begun")
        await stage.press("j")
        blank = stage.text(stage.live.blank)
        assert blank.splitlines()[-1].strip() == "Not begun: the suite ended before its turn."
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")


@pytest.mark.parametrize(("status", "is_known"), [("interrupted", True), ("finished", False)])
async def test_a_suite_that_did_not_finish_says_how_it_is_resumed(
    status: str, is_known: bool
) -> None:
    async with staged_suite() as stage:
        stage.feed.live = False
        await stage.publish(ev.RunFinished(0, NOW, status, 130))
        assert ("resumes it" in stage.text(stage.live.top)) == is_known


async def test_what_was_running_when_somebody_stopped_the_suite_was_stopped() -> None:
    async with staged_suite() as stage:
        stage.feed.live = False
        await stage.publish(ev.RunFinished(0, NOW, "interrupted", 130))
        assert stage.evaluations[RUNNING].endswith("stopped")


async def test_an_evaluation_that_ends_while_it_is_answered_takes_nobody_out_of_the_suite() -> None:
    async with staged_suite() as stage:
        await stage.press("R")
        assert "errored" in question(stage)
        stage.feeds.feeds[0].live = False
        await stage.press("a")
        await stage.until(lambda: "When all of the suite" in stage.text(stage.live.keys))
        assert stage.app.screen is stage.live and stage.app.suite is not None


async def test_notices_of_the_suite_are_shown() -> None:
    async with staged_suite() as stage:
        await stage.publish(ev.Noticed(0, NOW, "warning", "-n is ignored beside a TOML file"))
        await stage.until(lambda: "-n is ignored" in stage.text(stage.live.keys))


@pytest.mark.parametrize("keys", ["q", "?"])
async def test_what_was_open_before_the_suite_began_does_not_stay_below_it(keys: str) -> None:
    feed = ScriptedFeed([])
    stage = Stage(feed)
    async with stage.app.run_test(size=(80, 24)) as stage.pilot:
        await stage.press(*keys)
        assert stage.app.screen is not stage.live
        feed.events += suite_events()
        await stage.until(lambda: stage.app.suite is not None and not feed.events)
        if keys == "q":
            await stage.until_question()
            await stage.until(lambda: "78 of 336 rollouts" in question(stage))
            await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.live)
        assert [type(one) for one in stage.app.screen_stack[1:]] == [SuiteScreen]


@pytest.mark.parametrize(
    ("key", "command", "leave"),
    [("s", Stop, Leave("stop")), ("d", Detach, Leave("detach"))],
)
async def test_leaving_opens_a_question_about_the_suite(
    key: str, command: type, leave: Leave
) -> None:
    async with staged_suite() as stage:
        await stage.press("q")
        assert isinstance(stage.app.screen, Question)
        shown = stage.text(stage.app.screen.query_one("Choices"))
        assert "1 of 8 evaluations done, 1 refused; 78 of 336 rollouts on disk." in shown
        await stage.press("escape")
        assert stage.app.screen is stage.live
        await stage.press("q", key)
    assert stage.app.return_value == leave
    assert isinstance(stage.feed.sent[-1], command)
    assert stage.feeds.left_open == []
    assert [type(sent) for sent in stage.feeds.feeds[0].sent] == [Subscribe, Detach]


async def test_a_question_about_a_rollout_holds_its_evaluation() -> None:
    async with staged_suite() as stage:
        first = stage.feeds.feeds[0]
        await stage.press("1", "K")
        await stage.publish(moved(RUNNING, "finished"), moved(2, "running"))
        stage.clock += 60
        await stage.at_rest(stage.live.evaluations)
        assert stage.live.evaluations.cursor == RUNNING
        stage.app.screen.dismiss(True)
        for _ in range(3):  # the answer comes to the screen below a moment later
            stage.live.refresh_run()
        await stage.until(lambda: Cancel in [type(one) for one in first.sent])
        stage.clock += 60
        await stage.until(lambda: stage.live.evaluations.cursor == 2)


async def test_a_suite_that_is_over_is_left_without_a_question() -> None:
    async with staged_suite(ended_events(), live=False) as stage:
        assert "! ended after" in stage.text(stage.live.top)
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")


async def test_unsaved_runs_that_ended_are_left_without_a_question() -> None:
    events = ended_events()
    for one in events:
        if isinstance(one, ev.EvaluationMoved):
            one.saved = False
    async with staged_suite(events, live=False) as stage:
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")


async def test_ctrl_c_opens_a_question_and_stops_the_suite_the_second_time() -> None:
    async with staged_suite() as stage:
        await stage.press("ctrl+c")
        assert isinstance(stage.app.screen, Question)
        await stage.press("ctrl+c")
    assert stage.app.return_value == Leave("stop")
    assert isinstance(stage.feed.sent[-1], Stop)


async def test_a_suite_that_is_refused_closes_the_app() -> None:
    feed = ScriptedFeed([*suite_events(), ev.Refused(0, [("suite.toml", "no key", "")])])
    app = TuiEvalApp(feed, open_feed=Feeds(), now=lambda: NOW)
    async with app.run_test() as pilot:
        for _ in range(300):
            if app.return_value is not None:
                break
            await pilot.pause(0.01)
    assert app.return_value == Leave("closed")

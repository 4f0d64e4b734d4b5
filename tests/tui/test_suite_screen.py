from __future__ import annotations

import pytest
from scripted_run import NOW, SELECTED, ScriptedFeed, finished, staged
from scripted_suite import (
    CASES,
    REFUSAL,
    RUNNING,
    Feeds,
    ended_events,
    moved,
    run_path,
    suite_events,
    suite_started,
)
from staging import Stage, question, staged_suite

from tui_eval import events as ev
from tui_eval.commands import Cancel, Detach, Pause, Resume, Stop, Subscribe
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.dialogs.question import Question
from tui_eval.tui.suite.opened import KEPT
from tui_eval.tui.suite.screen import SuiteScreen


async def test_the_running_evaluation_is_joined_and_shown() -> None:
    async with staged_suite() as stage:
        assert stage.feeds.opened == [(run_path(RUNNING), f"run{RUNNING}.sock")]
        assert stage.live.evaluations.cursor == RUNNING
        assert stage.live.state.finished == 30
        await stage.until(lambda: "multiply" in stage.text(stage.live.trajectory))
        (feed,) = stage.feeds.feeds
        assert feed.sent == [Subscribe([SELECTED])]
        assert stage.feed.sent == []


async def test_when_the_followed_evaluation_is_over_the_next_running_one_is_shown() -> None:
    async with staged_suite() as stage:
        await stage.publish(moved(RUNNING, "finished"), moved(2, "running"))
        assert stage.live.evaluations.cursor == RUNNING
        stage.clock += 2
        await stage.until(lambda: stage.live.evaluations.cursor == 2)
        await stage.until(lambda: stage.feeds.opened[-1] == (run_path(2), "run2.sock"))


@pytest.mark.parametrize("keys", [["k"], ["1", "k"], ["2", "ctrl+u"]], ids=str)
async def test_who_chose_something_stays_with_the_evaluation(keys: list[str]) -> None:
    async with staged_suite() as stage:
        await stage.until(lambda: "multiply" in stage.text(stage.live.trajectory))
        await stage.press(*keys)
        place = stage.live.evaluations.cursor
        await stage.publish(moved(RUNNING, "finished"), moved(2, "running"))
        stage.clock += 10
        await stage.pilot.pause(0.3)
        assert stage.live.evaluations.cursor == place
        assert "not following" in str(stage.live.evaluations.border_title)
        await stage.press("0", "G")
        assert stage.live.evaluations.cursor == 2
        assert "· following" in str(stage.live.evaluations.border_title)


async def test_what_is_chosen_between_two_ticks_stays_chosen() -> None:
    async with staged_suite() as stage:
        stage.live.evaluations.select(2)
        stage.live.refresh_run()
        await stage.pilot.pause()
        assert stage.live.evaluations.cursor == 2
        assert not stage.live.follows


async def test_a_finished_evaluation_is_read_from_disk() -> None:
    async with staged_suite() as stage:
        await stage.press("g")
        await stage.until(lambda: stage.feeds.opened[-1] == (run_path(0), ""))
        await stage.until(lambda: "48/48" in stage.text(stage.live.header))
        assert "✓ finished" in stage.text(stage.live.header)


async def test_a_waiting_evaluation_says_for_what_it_waits() -> None:
    async with staged_suite() as stage:
        await stage.press("j", "j")
        shown = stage.text(stage.live.blank)
        assert "reverse-text" in shown
        assert "Waiting for its turn. 2 evaluations come before it." in shown
        assert "At most 4 rollouts at a time over all evaluations." in shown
        assert "tab pane" not in stage.text(stage.live.keys)
        assert "▶ calculator  gpt-4.1-mini, temperature=0.7  30/48" in shown
        assert not stage.live.grid.region
        await stage.press("1")
        assert stage.live.focused is stage.live.evaluations
        assert "nothing to show yet" in stage.text(stage.live.keys)


async def test_a_waiting_evaluation_that_begins_is_shown_where_it_was_waited_for() -> None:
    async with staged_suite() as stage:
        await stage.press("j")
        assert stage.live.blank.region
        await stage.publish(moved(2, "running"))
        await stage.until(lambda: stage.live.grid.region and stage.live.state.finished == 30)
        assert not stage.live.blank.region


async def test_a_refused_evaluation_says_why() -> None:
    async with staged_suite() as stage:
        await stage.press("g", *["j"] * 7)
        assert REFUSAL in " ".join(stage.text(stage.live.blank).split())


async def test_running_past_evaluations_opens_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_eval.tui.suite.screen.RESTS_S", 1.0)  # no key takes so long
    done = [suite_started(CASES * 5), *(moved(place, "finished") for place in range(40))]
    async with staged_suite(done) as stage:
        assert stage.feeds.opened == [(run_path(0), "")]
        await stage.pilot.press(*["j"] * 30)
        await stage.until(lambda: stage.live.state.run is not None)
        assert stage.live.evaluations.cursor == 30
        assert len(stage.feeds.opened) <= 4
        assert stage.feeds.opened[-1] == (run_path(30), "")


async def test_few_evaluations_stay_open_and_the_others_are_left_with_a_word() -> None:
    events = [suite_started(), *(moved(place, "running") for place in range(8))]
    async with staged_suite(events) as stage:
        await stage.press("g")
        for place in range(8):
            await stage.until(lambda: not stage.live.is_opening)
            assert stage.feeds.opened[-1][0] == run_path(place)
            await stage.press("j")
        assert len(stage.feeds.left_open) <= KEPT
        before = len(stage.feeds.opened)
        await stage.press("k")
        await stage.until(lambda: not stage.live.is_opening)
        assert len(stage.feeds.opened) == before, "what was shown before is still open"
    assert stage.feeds.left_open == []
    for feed in stage.feeds.feeds:
        assert isinstance(feed.sent[-1], Detach)
        assert not any(isinstance(command, Stop) for command in feed.sent)


async def test_coming_back_to_an_evaluation_finds_it_as_it_was_left() -> None:
    async with staged_suite() as stage:
        await stage.press("1", "g", "j", "j", "0")
        assert stage.live.rollouts.row == 2
        await stage.press("k")
        await stage.until(lambda: stage.feeds.opened[-1] == (run_path(0), ""))
        await stage.until(lambda: stage.live.state.finished == 48)
        joined = stage.feeds.feeds[0]
        joined.events += [finished(row) for row in range(32, 40)]
        await stage.until(lambda: not joined.events)
        await stage.press("j")
        await stage.until(lambda: stage.live.state.finished == 38)
        assert stage.live.rollouts.row == 2
        assert len(stage.feeds.opened) == 2


async def test_a_followed_rollout_is_still_told_after_coming_back() -> None:
    async with staged_suite() as stage:
        await stage.until(lambda: "multiply" in stage.text(stage.live.trajectory))
        await stage.press("k")
        await stage.until(lambda: stage.live.state.finished == 48)
        await stage.press("j")
        await stage.until(lambda: "multiply" in stage.text(stage.live.trajectory))
        assert stage.feeds.feeds[0].sent == [Subscribe([SELECTED])]


class NotYet(Feeds):
    """Evaluations that cannot be joined the first time."""

    def make(self, path: str, case: tuple[str, str, dict[str, str]], live: bool) -> ScriptedFeed:
        if len(self.opened) > 1:
            return super().make(path, case, live)
        why = "no engine answers at run1.sock"
        return ScriptedFeed([ev.RunFinished(0, NOW, "failed", 1, why)], live=False)


async def test_an_evaluation_that_cannot_be_joined_says_so_and_is_tried_again() -> None:
    async with staged_suite(feeds=NotYet()) as stage:
        await stage.until(lambda: "no engine answers" in stage.text(stage.live.blank))
        await stage.until(lambda: stage.live.state.finished == 30)
        assert len(stage.feeds.opened) == 2
        assert stage.feeds.feeds[0].closed


async def test_an_evaluation_whose_connection_was_lost_is_read_from_disk_once_it_is_over() -> None:
    async with staged_suite() as stage:
        joined = stage.feeds.feeds[0]
        joined.live = False
        joined.events += [ev.RunFinished(0, NOW, "failed", 1, "the engine was lost")]
        await stage.publish(moved(RUNNING, "finished"))
        await stage.until(lambda: stage.feeds.opened[-1] == (run_path(RUNNING), ""))
        await stage.until(lambda: stage.live.state.finished == 48)


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
        assert stage.feed.sent == [Pause(), Resume()]
        assert not any(isinstance(sent, Pause) for sent in stage.feeds.feeds[0].sent)


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


@pytest.mark.parametrize("size", [(12, 5), (40, 10), (79, 8), (101, 12), (300, 90)])
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    async with staged_suite(size=size) as stage:
        for keys in ("1", "2", "z", "z", "0", "z", "j", "v", "v", "question_mark", "escape", "q"):
            await stage.press(keys)


async def test_a_killed_engine_leaves_what_happened_and_how_to_go_on() -> None:
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
async def test_a_suite_that_did_not_finish_says_how_it_goes_on(status: str, is_known: bool) -> None:
    async with staged_suite() as stage:
        stage.feed.live = False
        await stage.publish(ev.RunFinished(0, NOW, status, 130))
        assert ("resumes it" in stage.text(stage.live.top)) == is_known


async def test_what_was_running_when_somebody_stopped_the_suite_was_stopped() -> None:
    async with staged_suite() as stage:
        stage.feed.live = False
        await stage.publish(ev.RunFinished(0, NOW, "interrupted", 130))
        assert stage.evaluations[RUNNING].endswith("stopped")


async def test_an_evaluation_that_is_over_waits_with_its_errors_for_the_others() -> None:
    async with staged_suite(size=(240, 60)) as stage:
        assert "rerun" in stage.text(stage.live.keys)
        await stage.press("less_than_sign", "R")
        await stage.until(lambda: "all of the suite is over" in stage.text(stage.live.keys))
        assert "rerun" not in stage.text(stage.live.keys)


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
async def test_what_was_open_before_the_suite_was_told_does_not_stay_below_it(keys: str) -> None:
    feed = ScriptedFeed([])
    stage = Stage(feed, True)
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
async def test_leaving_asks_what_becomes_of_the_suite(
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


async def test_what_is_asked_about_a_rollout_holds_its_evaluation() -> None:
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
    async with staged_suite(ended_events(), live=False, saved=False) as stage:
        await stage.press("q")
    assert stage.app.return_value == Leave("closed")


async def test_ctrl_c_asks_first_and_stops_the_suite_the_second_time() -> None:
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


async def test_one_run_alone_has_no_list() -> None:
    feed = ScriptedFeed([*Feeds().make(run_path(0), CASES[0], True).events])
    stage = Stage(feed, saved=True)
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.publish(staged(40, ev.Stage.MODEL))
        assert not isinstance(stage.app.screen, SuiteScreen)
        await stage.press("question_mark")
        assert "Several evaluations" not in stage.text(stage.app.screen.query_one("HelpLines"))

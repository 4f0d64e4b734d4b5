"""The shown evaluation of a suite, and its panes."""

from __future__ import annotations

import pytest
from app_driver import is_opening
from scripted_run import NOW, SELECTED, ScriptedFeed, finished
from scripted_suite import CASES, REFUSAL, RUNNING, Feeds, moved, run_path, suite_started
from staging import staged_suite

from tui_eval import events as ev
from tui_eval.commands import Detach, Stop, Subscribe
from tui_eval.tui.suite.controllers import KEPT


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
        assert not stage.live.evaluations.follows


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
        assert "max_concurrent 4 is over all evaluations." in shown
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_few_evaluations_stay_open_and_the_others_are_left_with_a_word() -> None:
    events = [suite_started(), *(moved(place, "running") for place in range(8))]
    async with staged_suite(events) as stage:
        await stage.press("g")
        for place in range(8):
            await stage.until(lambda: not is_opening(stage.live))
            assert stage.feeds.opened[-1][0] == run_path(place)
            await stage.press("j")
        assert len(stage.feeds.left_open) <= KEPT
        before = len(stage.feeds.opened)
        await stage.press("k")
        await stage.until(lambda: not is_opening(stage.live))
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


async def test_a_followed_rollout_is_still_shown_after_coming_back() -> None:
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

"""What people ask of a run by its screen, and what the engine gets of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_run import (
    ERRORS,
    NOW,
    SELECTED,
    ScriptedFeed,
    all_events,
    failed,
    finished,
    run_started,
    running_events,
    saved_row,
    saved_rows,
    staged,
    throttled_events,
)
from staging import Stage, over, question, running, staged_app, staged_suite

from tui_eval import events as ev
from tui_eval.commands import Cancel, Command, MoveLimit, Rerun, SaveNow, Subscribe
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.path_prompt import PathLine
from tui_eval.tui.base.terminal.browser import DRIVER, in_browser
from tui_eval.tui.run.steering import next_limit

CONTROLS = (Cancel, Rerun, MoveLimit, SaveNow)


def asked(feed: Any) -> list[Command]:
    return [command for command in feed.sent if isinstance(command, CONTROLS)]


def said(stage: Stage) -> str:
    return stage.text(stage.live.keys)


async def test_a_rollout_is_cancelled_once_somebody_says_yes() -> None:
    async with staged_app(running()) as stage:
        await stage.press("K", "escape")
        assert asked(stage.feed) == []
        await stage.press("2", "K")
        assert "yes, cancel it" in question(stage)
        await stage.press("y")
        assert asked(stage.feed) == [Cancel(SELECTED)]
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
        assert asked(stage.feed) == []


async def test_what_runs_again_is_counted_as_long_as_it_is_asked_about() -> None:
    async with staged_app(running()) as stage:
        await stage.press("g", "e", "R")
        row = stage.live.rollouts.row
        assert "all 2 errored" in question(stage)
        await stage.publish(failed(35, "ModelError -> APITimeoutError"))
        assert "all 3 errored" in question(stage)
        await stage.press("o")
        assert asked(stage.feed) == [Rerun([row])]


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
        assert asked(feed) == [Rerun([row]), Rerun([], error), Rerun()]
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
        assert asked(feed) == [Rerun([], "ModelError -> APITimeoutError")]


async def test_a_row_that_is_taken_back_waits_again_and_its_story_is_that_of_the_new_one() -> None:
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
        assert asked(stage.feed) == [MoveLimit(6)]
        assert "limit 4 → 6" in stage.text(stage.live.header)
        await stage.press("+")
        assert asked(stage.feed)[1:] == [MoveLimit(8)]
        await stage.publish(ev.LimitMoved(0, NOW, 8, 4))
        assert "limit 4 → 8" in stage.text(stage.live.header)
        stage.clock = NOW + 11
        await stage.publish(staged(36, ev.Stage.MODEL))
        assert "limit" not in stage.text(stage.live.header)
        await stage.press("-", "-", "-", "-", "-", "-", "-", "-")
        assert asked(stage.feed)[-1] == MoveLimit(1)
        assert "One rollout at a time is the least" in said(stage)
        await stage.publish(ev.LimitMoved(0, NOW, 1, 8))
        assert "limit 8 → 1" in stage.text(stage.live.header), "more than one still are"


async def test_a_limit_that_was_moved_gives_way_to_how_it_gives_way() -> None:
    """Rollouts that sleep are in flight no more."""
    feed = ScriptedFeed(throttled_events(), saved_rows())
    async with staged_app(feed, size=(140, 40)) as stage:
        await stage.publish(ev.LimitMoved(0, NOW, 4, 16))
        assert "limit 16 → 4" in stage.text(stage.live.header)
        stage.clock = NOW + 11
        await stage.publish(staged(30, ev.Stage.MODEL))
        assert stage.live.state.running == 5 and stage.live.state.sleeping == 1
        header = stage.text(stage.live.header)
        assert "limit 16 → 4" not in header and "31 requests refused" in header


async def test_without_a_limit_there_is_nothing_to_raise_but_it_can_be_lowered() -> None:
    _, *events = running_events()
    feed = ScriptedFeed([run_started(max_concurrent=0), *events], saved_rows())
    async with staged_app(feed) as stage:
        await stage.press("+")
        assert "no limit that could be raised" in said(stage)
        await stage.press("-")
        assert asked(feed) == [MoveLimit(4)]


@pytest.mark.parametrize(("now", "greater", "smaller"), [(1, 2, 1), (2, 3, 1), (4, 6, 3),
                         (16, 24, 12), (20, 24, 16), (1000, 1024, 768)])  # fmt: skip
def test_limits_go_in_steps_that_people_would_choose(now: int, greater: int, smaller: int) -> None:
    assert (next_limit(now, 1), next_limit(now, -1)) == (greater, smaller)


@pytest.mark.parametrize("key", ["+", "-"])
async def test_the_limit_of_a_run_that_is_not_known_yet_is_not_moved(key: str) -> None:
    feed = ScriptedFeed(starts=False)
    async with TuiEvalApp(feed, now=lambda: NOW, saved=True).run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        assert str(pilot.app.live_screen.keys.message) == "Not yet: the run is still loading."
        assert asked(feed) == []


async def test_saving_now_asks_the_engine_and_needs_none_once_the_run_is_over() -> None:
    async with staged_app(running()) as stage:
        await stage.press("ctrl+s")
        assert asked(stage.feed) == [SaveNow()]
    async with staged_app(over()) as stage:
        await stage.press("ctrl+s")
        assert asked(stage.feed) == []
        assert "on the disk already" in said(stage)


async def test_what_a_finished_run_cannot_do_is_said() -> None:
    feed = ScriptedFeed([run_started(), *map(finished, range(48)), all_events()[-1]], live=False)
    async with staged_app(feed) as stage:
        for key, why in (("K", "has ended"), ("R", "No rollout has errored"), ("+", "has ended")):
            await stage.press(key)
            assert why in said(stage)
        assert asked(feed) == []


@pytest.mark.parametrize("key", ["e", "x", "R"])
async def test_nothing_is_said_to_be_missing_of_a_run_that_is_still_loading(key: str) -> None:
    app = TuiEvalApp(ScriptedFeed(starts=False), now=lambda: NOW, saved=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        assert str(app.live_screen.keys.message) == "Not yet: the run is still loading."


async def test_the_run_of_another_program_says_what_cannot_be_read_and_no_more() -> None:
    bad = ev.LineUnreadable(0, NOW, "results.jsonl", 3, 10, 5, "junk")
    events = [run_started(format="verifiers"), finished(0), bad, ev.ReadingMoved(0, NOW, 9, 9, 2)]
    end = ev.RunFinished(0, NOW, "interrupted", 130)
    async with staged_app(ScriptedFeed([*events, end], live=False), size=(120, 40)) as stage:
        header = stage.text(stage.live.header)
        assert "2 lines unreadable, see pane 4" in header
        assert "■ stopped" in header
        assert "resumable" not in header, "no engine of ours can go on with it"
        await stage.press("space")
        assert "has ended" in said(stage)
        assert "47 missing" in header, "what cannot be read is missing as well"
        assert "no row" in stage.text(stage.live.rollouts)
        assert "waiting" not in stage.text(stage.live.rollouts) + header


@pytest.mark.parametrize(
    ("size", "said_as"), [((80, 24), "! 2 contradictions"), ((120, 40), ", see pane 4")]
)
async def test_a_saved_run_says_that_its_files_contradict_each_other(
    size: tuple[int, int], said_as: str
) -> None:
    told = ["metadata.json says one thing", "and another"]
    end = ev.RunFinished(0, NOW, "finished", 0, contradictions=told)
    events = [run_started(format="verifiers"), *map(finished, range(48)), end]
    async with staged_app(ScriptedFeed(events, live=False), size=size) as stage:
        assert said_as in stage.text(stage.live.header)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_run_of_which_nobody_told_how_many_rollouts_it_has_counts_those_there_are(
    size: tuple[int, int],
) -> None:
    events = [run_started(format="verifiers", total_known=False), *map(finished, range(25))]
    end = ev.RunFinished(0, NOW, "finished", 0)
    async with staged_app(ScriptedFeed([*events], live=False), size=size) as stage:
        await stage.publish(ev.ReadingMoved(0, NOW, 9, 9, 0, 26))
        header = stage.text(stage.live.header)
        assert "followed" in header and "~ line 26 unfinished" in header
        assert stage.live.rollouts.count() == 25, "nobody knows whether any more will come"
        await stage.publish(ev.ReadingMoved(0, NOW, 9, 9), end)
        header = stage.text(stage.live.header)
        assert "25" in header and "finished" in header
        assert not any(word in header for word in ("/48", "waiting", "missing", "unfinished"))
        assert stage.live.rollouts.count() == 25, "places without a rollout are not listed"
        await stage.press("slash", *"reward>=0", "enter")
        assert "25 of 25" in stage.text(stage.live.rollouts)


async def test_a_file_without_rows_says_that_it_is_followed() -> None:
    nothing = run_started(format="verifiers", total_known=False, total=0, num_examples=0)
    feed = ScriptedFeed([nothing, ev.ReadingMoved(0, NOW, 0, 0)], live=False)
    async with staged_app(feed) as stage:
        shown = [stage.live.header, stage.live.rollouts, stage.live.trajectory]
        text = " ".join(map(stage.text, shown))
        assert "followed" in text and "no rollouts yet" in text and "The file is empty." in text
        assert "starting engine" not in text


async def test_the_run_of_another_program_can_only_be_read() -> None:
    _, *events = running_events()
    feed = ScriptedFeed([run_started(format="verifiers"), *events], live=False)
    async with staged_app(feed) as stage:
        for key in ("K", "R", "+", "space", "f"):
            await stage.press(key)
            assert "it can only be read" in said(stage)
    feed = ScriptedFeed([run_started(format="verifiers"), *all_events()[1:]], live=False)
    async with staged_app(feed) as stage:
        await stage.press("R")
        assert "only runs of tui-eval can be resumed" in said(stage)


async def test_why_nothing_goes_on_with_a_run_that_was_cut_off_before_anything_errored() -> None:
    events = [finished(0), ev.RunFinished(0, NOW, "interrupted", 130)]
    feed = ScriptedFeed([run_started(format="verifiers"), *events], live=False)
    async with staged_app(feed) as stage:
        await stage.press("R")
        assert "only runs of tui-eval can be resumed" in said(stage)


async def test_a_saved_run_is_handed_to_an_engine_and_shown_again_where_it_is_refused() -> None:
    started: list[dict[str, Any]] = []
    again = ScriptedFeed(running_events()[:-4], saved_rows())

    def start(request: dict[str, Any]) -> ScriptedFeed:
        started.append(request)
        return again

    feed, back = over(), over()
    stage = Stage(feed, True)
    stage.app = TuiEvalApp(feed, open_feed=lambda path, socket: back, now=lambda: NOW, start=start)
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.until(lambda: not feed.events)
        await stage.press("e", "R", "o")
        row = ERRORS[0]
        await stage.until(lambda: feed.closed and stage.live.state.run is not None)
        path = stage.live.state.run.path
        assert started == [{"env_id": None, "raw": {"resume": path}, "again": [row]}]
        await stage.until(lambda: stage.live.rollouts.row == row)
        assert stage.app.screen is stage.live and stage.live.status.is_live
    refused = ("--resume", "process 7 is writing this run", "Join it: tui-eval open runs/a")
    feed, again = over(), ScriptedFeed([ev.Refused(0, [refused])])
    stage = Stage(feed, True)
    stage.app = TuiEvalApp(feed, open_feed=lambda path, socket: back, now=lambda: NOW, start=start)
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.until(lambda: not feed.events)
        await stage.press("R", "a")
        await stage.until_question()
        assert started[-1]["again"] == sorted(ERRORS)
        told = " ".join(question(stage).split())
        assert "--resume: process 7 is writing this run. Join it: tui-eval open runs/a" in told
        await stage.press("escape")
        await stage.until(lambda: stage.live.state.errored == 2)


async def test_what_an_interrupted_run_is_missing_runs_from_its_own_screen() -> None:
    started: list[dict[str, Any]] = []
    feed = ScriptedFeed(
        [*running_events()[:3], ev.RunFinished(0, NOW, "interrupted", 130)], live=False
    )
    again = ScriptedFeed(running_events()[:-4], saved_rows())

    def start(request: dict[str, Any]) -> ScriptedFeed:
        started.append(request)
        return again

    stage = Stage(feed, True)
    stage.app = TuiEvalApp(feed, now=lambda: NOW, start=start)
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.until(lambda: not feed.events and "R resume" in said(stage))
        path = stage.live.state.run.path
        await stage.press("R")
        assert "missing" in question(stage)
        await stage.press("m")
        await stage.until(lambda: started)
        assert started == [{"env_id": None, "raw": {"resume": path}}]
        await stage.until(lambda: feed.closed and stage.live.status.is_live)
        await stage.until(lambda: "· following" in str(stage.live.rollouts.border_title))


async def test_saving_as_copies_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "state" / "evals" / "calculator--m" / "1a2b"
    source.mkdir(parents=True)
    (source / "results.jsonl").write_text('{"example_id": 0}\n')
    (source / "run.toml").write_text("")
    feed = ScriptedFeed([run_started(path=str(source), saved=False), *all_events()[1:]], live=False)
    async with staged_app(feed) as stage:
        await stage.press("C", "enter")
        copy = tmp_path / "outputs" / "evals" / "calculator--m" / "1a2b"
        await stage.until((copy / "results.jsonl").exists)
        await stage.until(lambda: "The run is in outputs/evals" in said(stage))
        await stage.press("C", "enter")
        await stage.until(lambda: "there already" in said(stage))
        await stage.press("q")
        assert stage.app.return_value is not None, "it is kept: nothing is asked"


async def test_in_a_browser_a_copy_is_said_to_be_on_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEXTUAL_DRIVER", DRIVER)
    in_browser.cache_clear()
    try:
        path = str(tmp_path / "1a2b")
        feed = ScriptedFeed([run_started(path=path), *all_events()[1:]], live=False)
        async with staged_app(feed) as stage:
            await stage.press("C")
            assert "on the server" in stage.text(stage.app.screen.query_one(PathLine))
    finally:
        in_browser.cache_clear()


async def test_the_limit_of_a_suite_is_that_of_all_its_evaluations() -> None:
    async with staged_suite() as stage:
        stage.app.suite.started.max_concurrent = 32
        await stage.press("+")
        assert asked(stage.feed) == [MoveLimit(48)]
        assert "At most 48 rollouts at a time" in said(stage)
        await stage.publish(ev.LimitMoved(0, NOW, 48, 32))
        assert stage.app.suite.started.max_concurrent == 48
        await stage.press("ctrl+s")
        assert asked(stage.feed)[1:] == [SaveNow()]


async def test_the_palette_knows_every_command() -> None:
    async with staged_app(running()) as stage:
        found = {one.title for one in stage.app.get_system_commands(stage.app.screen)}
        for command in ("Cancel the selected rollout", "Run errored or missing",
                        "Raise the concurrency", "Lower the concurrency",
                        "Write all of it", "Save the run as", "Errors only", "Filter the rollouts",
                        "Sort by a column", "Sort the other way", "Choose the columns",
                        "Keep examples together"):  # fmt: skip
            assert any(title.startswith(command) for title in found)

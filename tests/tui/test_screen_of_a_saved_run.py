"""The screen of a saved run: its texts, its limits, and its requests to an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_rows import saved_rows
from scripted_run import (
    ERRORS,
    NOW,
    ScriptedFeed,
    all_events,
    finished,
    run_started,
    running_events,
)
from staging import Stage, over, question, said, staged_app

from tui_eval import events as ev
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.question import TypedLines
from tui_eval.tui.base.terminal.browser import DRIVER, in_browser


@pytest.mark.parametrize("key", ["e", "x", "R"])
async def test_nothing_is_said_to_be_missing_of_a_run_that_is_still_loading(key: str) -> None:
    app = TuiEvalApp(ScriptedFeed(starts=False), now=lambda: NOW)
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
        assert "resumable" not in header, "no engine of ours can resume it"
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
    output = ["metadata.json says one thing", "and another"]
    end = ev.RunFinished(0, NOW, "finished", 0, contradictions=output)
    events = [run_started(format="verifiers"), *map(finished, range(48)), end]
    async with staged_app(ScriptedFeed(events, live=False), size=size) as stage:
        assert said_as in stage.text(stage.live.header)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_run_without_a_total_counts_the_rollouts_that_there_are(
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


async def test_why_a_run_that_was_cut_off_before_anything_errored_is_not_resumed() -> None:
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
    stage = Stage(feed)
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
    stage = Stage(feed)
    stage.app = TuiEvalApp(feed, open_feed=lambda path, socket: back, now=lambda: NOW, start=start)
    async with stage.app.run_test(size=(120, 40)) as stage.pilot:
        await stage.until(lambda: not feed.events)
        await stage.press("R", "a")
        await stage.until_question()
        assert started[-1]["again"] == sorted(ERRORS)
        output = " ".join(question(stage).split())
        assert "--resume: process 7 is writing this run. Join it: tui-eval open runs/a" in output
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

    stage = Stage(feed)
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
            assert "on the server" in stage.text(stage.app.screen.query_one(TypedLines))
    finally:
        in_browser.cache_clear()

"""The list of rollouts is filtered by typed text, and by errors."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from rollouts_staging import listed, shown
from run_on_disk import scripted_on_disk
from scripted_rows import saved_rows
from scripted_run import ERRORS, TOTAL, ScriptedFeed, finished, run_started, staged
from staging import Stage, over, running, staged_app

from tui_eval import events as ev
from tui_eval.fold.columns import Version
from tui_eval.fold.query.nodes import condition
from tui_eval.fold.query.patterns import Matcher
from tui_eval.fold.run_state import RunState
from tui_eval.tui.run.rollouts.filter_entry import with_errors_only


async def typed(stage: Stage, text: str) -> None:
    names = {" ": "space"}
    await stage.press("slash", *(names.get(sign, sign) for sign in text))


async def test_a_filter_lists_what_matches_while_it_is_typed_and_escape_clears_it() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "reward<0.2")
        state = stage.app.state
        assert listed(stage) == [row for row in range(TOTAL) if state.reward[row] < 0.2]
        assert f"{len(listed(stage))} of 48" in shown(stage).splitlines()[0]
        await stage.press("escape")
        assert listed(stage) == list(range(TOTAL))
        assert "of 48" not in shown(stage)


async def test_keys_that_are_typed_into_a_filter_are_no_commands() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "q z2?")
        assert stage.live.rollouts.listing.text == "q z2?"
        assert stage.app.screen is stage.live
        assert "esc clear" in stage.text(stage.live.keys)
        assert "quit" not in stage.text(stage.live.keys)


async def test_enter_keeps_a_filter_and_the_next_keys_move_among_its_matches() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "state:error")
        await stage.press("enter")
        rollouts = stage.live.rollouts
        assert listed(stage) == sorted(ERRORS)
        await stage.until(lambda: rollouts.row == min(ERRORS))
        await stage.press("j")
        assert rollouts.row == max(ERRORS)
        await stage.press("j")
        assert rollouts.row == max(ERRORS)


async def test_a_fault_is_shown_with_its_place_until_it_is_mended() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "turns>5")
        before = listed(stage)
        await stage.press("space", *"rewrd<1")
        output = " ".join(shown(stage).split())
        assert "✗ character 9: there is no field rewrd. Did you mean reward" in output
        assert listed(stage) == before  # and not what the word matched before it was a field
        assert f"{len(before)} of 48 · last good filter" in output
        await stage.press(*["backspace"] * 8)
        assert listed(stage) == before
        assert "character" not in shown(stage)


async def test_a_fault_leaves_what_was_listed() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "turns>5")
        before = listed(stage)
        await stage.press("x")
        assert "✗ character" in shown(stage)
        assert listed(stage) == before


async def test_a_filter_that_is_kept_says_how_it_is_cleared_while_keys_come_to_the_list() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "turns>5")
        assert "esc clears" not in shown(stage)
        await stage.press("enter")
        await stage.until(lambda: "esc clears" in shown(stage))
        await stage.press("3")
        await stage.until(lambda: "esc clears" not in shown(stage))


async def test_the_selection_stays_on_its_rollout_where_that_does_not_match() -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "j", "j", "j")
        await typed(stage, "state:error")
        assert stage.live.rollouts.row == 4
        assert stage.live.reader.row == 4
        await stage.press("escape")
        assert stage.live.rollouts.row == 4
        assert stage.live.rollouts.line_selected == 4


async def test_a_filter_of_a_running_run_takes_in_what_comes_to_match() -> None:
    async with staged_app(running()) as stage:
        await typed(stage, "stage:waiting")
        await stage.press("enter")
        before = listed(stage)
        assert 45 in before
        await stage.publish(staged(45, ev.Stage.MODEL))
        await stage.until(lambda: 45 not in listed(stage))
        assert set(before) - set(listed(stage)) == {45}


async def test_a_large_run_is_filtered_by_a_thread() -> None:
    rows = 6_000
    start = run_started(num_examples=rows // 4, total=rows)
    feed = ScriptedFeed([start, *(finished(row) for row in range(rows))], saved_rows())
    async with staged_app(feed) as stage:
        await typed(stage, "reward<0.2")
        await stage.press("enter")
        state = stage.app.state
        wanted = [row for row in range(rows) if state.reward[row] < 0.2]
        await stage.until(lambda: stage.live.rollouts.count() == len(wanted))
        assert listed(stage) == wanted


async def test_an_expression_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Matcher.__init__.__kwdefaults__, "patience_s", 0.3)
    events = [run_started(), finished(0, example_id="a" * 60)]
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        stage.live.rollouts.filter_by("/(a+)+b/")
        await stage.until(lambda: "takes too long" in " ".join(shown(stage).split()))


@pytest.mark.parametrize("text", ["/(a+)+b/", "text:/needle/"])
async def test_a_filter_for_which_no_process_can_be_started_says_so_and_the_screen_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        with monkeypatch.context() as without:
            without.setattr(sys, "executable", str(tmp_path / "python-that-is-gone"))
            await typed(stage, text)
            await stage.press("enter")
            output = "no process could be started: No such file or directory"
            await stage.until(lambda: output in " ".join(shown(stage).split()))
        await stage.press("escape")
        await typed(stage, "text:/needle/")
        await stage.until(lambda: listed(stage) == [5])


async def test_trajectories_are_searched_in_the_background(tmp_path: Path) -> None:
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        await typed(stage, "text:needle")
        await stage.until(lambda: "searched" in shown(stage) or listed(stage) == [5])
        await stage.press("enter")
        await stage.until(lambda: listed(stage) == [5])
        assert "1 of 48" in shown(stage)
        await stage.until(lambda: stage.live.rollouts.row == 5)


async def test_titles_have_the_numbers_that_the_list_has() -> None:
    events = [run_started(), finished(0), finished(1, number=3)]
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        await stage.press("j")
        await stage.until(lambda: "0  3" in shown(stage))
        await stage.until(lambda: "example 0 #3" in str(stage.live.trajectory.border_title))


@pytest.mark.parametrize("gone", ["results.jsonl", ""], ids=["file", "folder"])
async def test_a_search_whose_file_is_gone_says_so(tmp_path: Path, gone: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    async with staged_app(scripted_on_disk(run)) as stage:
        (run / gone).rename(tmp_path / "elsewhere")
        await typed(stage, "text:needle")
        await stage.press("enter")
        await stage.until(lambda: "✗ trajectories cannot be searched" in shown(stage))
        assert "none found so far" in shown(stage)


@pytest.mark.parametrize("by_fault", [False, True])
async def test_escape_or_a_fault_ends_a_search_before_the_filter_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_fault: bool
) -> None:
    from tui_eval.runs import selection
    from tui_eval.runs.selection import SearchProgress

    proceed = threading.Event()

    def slow(run: object, state: RunState, wanted: Any, notes: object) -> Any:
        for searched in range(1, 41):
            version = Version(0, state.since[searched])
            wanted.received(wanted.text_conditions[0], searched, searched == 3, version)
            yield SearchProgress(searched, 40, 1, 0)
            if searched == 10:
                proceed.wait(20)

    monkeypatch.setattr(selection, "search_trajectories", slow)
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        await typed(stage, "text:needle")
        await stage.until(lambda: "searched 10 of 40" in shown(stage))
        assert "esc cancels" in shown(stage)
        await stage.until(lambda: listed(stage) == [3])
        await stage.press(")" if by_fault else "escape")
        proceed.set()
        await stage.until(lambda: "stopped after" in shown(stage))
        assert ("character" in shown(stage)) == by_fault
        assert listed(stage) == [3]
        await stage.press("escape")
        assert listed(stage) == list(range(TOTAL))


async def test_errors_only_joins_the_filter_that_there_is() -> None:
    async with staged_app(over()) as stage:
        await stage.press("exclamation_mark")
        assert listed(stage) == sorted(ERRORS)
        await stage.press("exclamation_mark")
        assert listed(stage) == list(range(TOTAL))
    assert with_errors_only("a or b") == "(a or b) state:error"
    assert with_errors_only(with_errors_only("a or b")) == "a or b"


async def test_the_rollouts_of_one_error_are_listed() -> None:
    async with staged_app(over()) as stage:
        stage.live.rollouts.filter_by(condition("error", "ToolCallError -> ZeroDivisionError"))
        await stage.until(lambda: listed(stage) == sorted(ERRORS))
        await stage.press("e")
        assert stage.live.rollouts.row in ERRORS

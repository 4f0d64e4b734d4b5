"""The help of a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from app_driver import AppDriver
from compare_staging import comparing
from compared_runs import three_runs, two_runs
from form_staging import staged
from home_staging import at_home
from scripted_form import FormApp, monday, ready
from scripted_rows import saved_rows
from scripted_run import ERRORS, ScriptedFeed, all_events, finished
from staging import over, running, staged_app, staged_suite

from tui_eval.tui.base.keys.help import HelpLines
from tui_eval.tui.compare.screen import CompareRuns

AT_WORK = (
    "Pause the run", "Follow the newest", "Cancel the selected rollout",
    "Raise, lower the concurrency", "Write all of it to disk", "Stop and quit at once",
    "Stop (resumable), detach, or stay",
)  # fmt: skip


async def helped(stage: AppDriver, key: str = "question_mark") -> str:
    """All lines of the help."""
    await stage.press(key)
    lines = stage.app.screen.query_one(HelpLines)
    return "\n".join("".join(text for text, _ in lines.line(at)) for at in range(lines.count()))


async def test_help_that_is_longer_than_the_screen_says_how_to_scroll() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("question_mark")
        box = stage.app.screen.query_one("HelpLines")
        assert str(box.border_subtitle) == "j k scroll"
        await stage.press("G")
        assert "States" in stage.text(box)
        shown = stage.text(box)
        assert "✂ truncated  an answer ended at its length limit" in shown
        assert "↻ try        which one it is: try 2, or ↻2 in short" in shown


@pytest.mark.parametrize(("width", "box"), [(80, 80), (120, 120), (200, 118)])
async def test_no_single_letters_of_the_screen_stand_beside_the_help(width: int, box: int) -> None:
    async with staged_app(over(), size=(width, 24)) as stage:
        await stage.press("question_mark")
        assert stage.app.screen.query_one("HelpLines").region.width == box


async def test_what_an_engine_alone_can_do_is_shown_while_one_is_at_work() -> None:
    async with staged_app(running()) as stage:
        shown = await helped(stage)
        assert [one for one in AT_WORK if one not in shown] == []
    async with staged_app(over()) as stage:
        shown = await helped(stage)
        assert [one for one in AT_WORK if one in shown] == []
        for does in ("Run errored or missing", "Next, previous error", "To the end", "Quit"):
            assert does in shown


@pytest.mark.parametrize(
    ("key", "line"),
    [("1", "enter Read the rollout"), ("2", "enter Unfold, fold"), ("4", "L Show other levels")],
)
async def test_help_of_the_pane_that_one_is_in_does_not_name_it(key: str, line: str) -> None:
    async with staged_app(over(), size=(80, 40)) as stage:
        await stage.press(key)
        here = (await helped(stage)).split("\n\n")[0].splitlines()
        assert here[0] == "In this pane" and line in [" ".join(one.split()) for one in here]


@pytest.mark.parametrize(
    ("saved", "leaving"),
    [(True, ["q ^c ^q Quit"]), (False, ["q ^c Quit; unsaved, it is kept 14 days", "^q Quit"])],
)
async def test_keys_that_leave_a_run_that_is_over_are_shown_by_what_they_do(
    saved: bool, leaving: list[str]
) -> None:
    feed = ScriptedFeed(all_events(saved=saved), saved_rows(), live=False)
    async with staged_app(feed, size=(80, 40)) as stage:
        shown = (await helped(stage)).partition("Leaving\n")[2].split("\n\n")[0]
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert lines == [*leaving, "^z To the shell; fg comes back"]


async def test_a_complete_run_without_errors_has_nothing_to_run_again() -> None:
    events = [finished(one.row) if getattr(one, "row", -1) in ERRORS else one
              for one in all_events()]  # fmt: skip
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        shown = await helped(stage)
        assert "Run errored" not in shown and "previous error" not in shown


@pytest.mark.slow
async def test_a_suite_is_resumed_after_one_of_its_evaluations() -> None:
    async with staged_suite() as stage:
        await stage.press("less_than_sign")
        await stage.until(lambda: stage.live.state.end is not None)
        shown = await helped(stage)
        assert "Pause the run" in shown and "Cancel the selected" not in shown


@pytest.mark.parametrize(
    ("name", "leaves"),
    [("3f9a2c10", "q +Back home; what runs continues"), ("11aa22bb", r"q \^c +Back home")],
)
async def test_help_and_footer_say_the_same_of_leaving_a_run_that_home_opened(
    name: str, leaves: str
) -> None:
    async with at_home() as stage:
        await stage.select(name)
        live = await stage.into_run()
        live.keys.message = ""
        await stage.until(lambda: "q home" in stage.text(live.keys))
        assert re.search(rf" {leaves}( {{2,}}|$)", await helped(stage), re.MULTILINE)


async def test_every_key_that_leaves_home_says_that_it_leaves_what_runs_alone() -> None:
    async with at_home() as stage:
        shown = await helped(stage)
        assert re.search(r"q \^c \^q +Quit; what runs continues", shown)
        assert "Stop and quit" not in shown and "Ask how to leave" not in shown


@pytest.mark.parametrize("key", ["0", "1"])
async def test_help_of_a_suite_names_each_place_of_a_key_once(key: str) -> None:
    async with staged_suite() as stage:
        await stage.press(key)
        shown = await helped(stage)
        places = re.findall(r"(\S+) +(In the [^:]+):", shown)
        assert len(places) == len(set(places))
        assert (("enter", "In the list") in places) is (key == "0")


async def test_help_of_home_and_form_stands_in_two_columns_at_120() -> None:
    async with at_home() as stage:
        await stage.press("question_mark")
        first = stage.text(stage.app.screen.query_one("HelpLines")).splitlines()[0]
        assert first.split("  ")[0].strip() == "In this pane" and first.endswith("Around")
    async with staged(ready(), (120, 40)) as form:
        await form.press("f1")
        first = form.text(form.app.screen.query_one("HelpLines")).splitlines()[0]
        assert first.split() == ["This", "evaluation", "Fields"]


async def test_a_comparison_of_two_has_no_next_run(tmp_path: Path) -> None:
    for write, shown in ((two_runs, False), (three_runs, True)):
        async with comparing(CompareRuns(write(tmp_path / write.__name__))) as stage:
            await stage.until(lambda stage=stage: stage.screen.is_ready)
            assert ("previous run beside the first" in await helped(stage)) == shown


@pytest.mark.parametrize(("app", "shown"), [(ready, False), (monday, True)])
async def test_a_form_has_other_evaluations_where_its_file_has_several(
    app: Callable[[], FormApp], shown: bool
) -> None:
    async with staged(app()) as stage:
        assert ("Choose an evaluation" in await helped(stage, "f1")) == shown


async def test_what_works_on_a_list_is_in_its_pane_wherever_else_it_works() -> None:
    of_list = ("Note and tags on a rollout", "Mark a rollout", "Compare with the marked")
    async with staged_app(over(), size=(80, 24)) as stage:
        pane, _, others = (await helped(stage)).partition("\n\n")
        assert [one for one in of_list if one not in pane] == [] and "The list of" not in others
        await stage.press("escape", "2")
        pane, _, others = (await helped(stage)).partition("\n\n")
        assert [one for one in of_list if one not in others] == [] and "The list of" in others
    async with at_home() as home:
        assert "Compare marked runs" in (await helped(home)).partition("\n\n")[0]

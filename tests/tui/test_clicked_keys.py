"""A click on a key in a line, or on its words, presses it."""

from __future__ import annotations

from pathlib import Path

from compare_staging import comparing, runs_screen
from compared_runs import three_runs
from home_staging import at_home
from scripted_home import FormBackend
from scripted_run import ScriptedFeed
from staging import over, staged_app

from tui_eval.tui.base.lines.mouse_lines import key_in_line


def test_the_key_of_a_line_is_that_whose_words_are_clicked() -> None:
    line = (("  D", "key"), ("  watch", ""), (", ", "faint"), ("^s", "key"), (" x", "faint"))
    line = (*line, ("  3 of 4", "strong"), ("name", "key"))
    output = [key_in_line(line, x) for x in (0, 2, 9, 11, 12, 15, 17, 24, 90)]
    assert output == ["", "D", "D", "D", "ctrl+s", "ctrl+s", "", "", ""]


async def test_where_there_are_no_runs_a_click_does_what_is_shown() -> None:
    async with at_home(FormBackend(), (80, 24)) as stage:
        await stage.click_on("put an evaluation together")
        await stage.until(lambda: stage.configured == [""])
    async with at_home(FormBackend(), (80, 24)) as stage:
        await stage.click_on("watch the demo")
        await stage.watching()
        assert ("demo", "") in stage.backend.calls


async def test_what_the_lines_of_a_run_name_is_done_by_a_click() -> None:
    async with at_home(size=(80, 24)) as stage:
        await stage.select("9e8d7c6b")
        await stage.click_on("resumes what")
        await stage.watching()
        assert stage.wanted == ("resume", "9e8d7c6b")
    async with at_home(size=(80, 24)) as stage:
        await stage.press("space")
        await stage.click_on("compares the two")
        assert len(stage.compared) == 1


async def test_a_filter_is_taken_back_by_a_click_on_what_clears_it() -> None:
    async with at_home(size=(80, 24)) as stage:
        await stage.press("slash", *"nothing has this", "enter")
        await stage.click_on("clears")
        await stage.until(lambda: stage.home.runs.shown)
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("slash", *"example<1", "enter")
        await stage.until(lambda: stage.live.rollouts.count() == 4)
        await stage.click_on("esc clears")
        await stage.until(lambda: not stage.live.rollouts.listing.text)


async def test_a_click_shows_all_examples_again(tmp_path: Path) -> None:
    async with comparing(runs_screen(three_runs(tmp_path))) as stage:
        await stage.press("greater_than_sign", "f")
        await stage.click_on("shows all")
        await stage.until(lambda: len(stage.rows()) == 12)


async def test_the_log_is_a_click_away_before_there_is_a_rollout() -> None:
    async with staged_app(ScriptedFeed([]), size=(80, 24)) as stage:
        await stage.click_on("goes to the log")
        await stage.until(lambda: stage.app.focused is stage.live.log_pane)

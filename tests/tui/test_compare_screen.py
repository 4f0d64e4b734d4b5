"""The screen of runs that are compared: read, cancelled, narrow, or not comparable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from app_driver import seen
from compare_staging import Comparing, comparing, runs_screen
from compared_runs import QUESTIONS, Stuck, strangers, two_runs, write_run

from tui_eval.tui.compare.screen import CompareRuns


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_runs_that_are_not_comparable_say_why(tmp_path: Path, size: tuple[int, int]) -> None:
    async with comparing(runs_screen(strangers(tmp_path)), size) as stage:
        assert "! not comparable: the runs have no example in common" in stage.text("compared")
        views = ("compared", "pairs", "paired-numbers")
        everywhere = "".join(stage.text(name) for name in views)
        assert everywhere.count("not comparable") == 1
        assert "1 more doubt in pane 1" in stage.text("compared")
        assert "nothing to compare" in stage.text("paired-numbers") or size[0] < 100
        shown = " ".join(stage.text("pairs").split())
        assert "12 examples only in A 12 examples only in B" in shown
        assert "the environments differ (calculator, geography): their rewards may not" in shown
        assert "paired by prompt" in shown
        await stage.press("enter")
        assert isinstance(stage.screen, CompareRuns)


async def test_what_is_no_run_is_shown_on_the_screen(tmp_path: Path) -> None:
    paths = [two_runs(tmp_path)[0], tmp_path / "nowhere"]
    async with comparing(runs_screen(paths)) as stage:
        shown = " ".join(stage.text("pairs").split())
        assert "nowhere: there is no such file or directory" in shown


async def test_reading_shows_how_far_it_is_and_can_be_cancelled(tmp_path: Path) -> None:
    many = tuple(f"{question} {n}" for n in range(400) for question in QUESTIONS)
    passes = tuple(int(n % 3 > 0) for n in range(len(many)))
    paths = [write_run(tmp_path, name, passes, questions=many, each=1) for name in ("one", "two")]
    stage = Comparing(runs_screen(paths))
    async with stage.app.run_test(size=(80, 24)) as stage.pilot:
        await stage.until(lambda: "▶ reading A" in stage.text("compared"))
        assert stage.text("keys").split() == ["q", "quit", "?", "help", "esc", "cancel"]
        await stage.press("escape")
        await stage.until(lambda: "✗ Cancelled." in stage.text("pairs"))
        assert not stage.screen.runs


async def test_enter_before_anything_is_read_says_that_it_is_too_early(tmp_path: Path) -> None:
    screen = runs_screen(two_runs(tmp_path))
    screen.reading = Stuck(screen.reading.paths)
    stage = Comparing(screen)
    async with stage.app.run_test(size=(80, 24)) as stage.pilot:
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        assert stage.text("keys").strip() == "Not yet: the runs are still being read."


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_titles_show_nothing_of_runs_that_are_still_being_read(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    screen = runs_screen(two_runs(tmp_path))
    screen.reading = Stuck(screen.reading.paths)
    stage = Comparing(screen)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: "reading" in stage.text("pairs"))
        titles = [
            stage.title(view).split(" · ") for view in ("pairs", "paired-numbers", "settings")
        ]
        assert titles == [[" 1 Examples "], [" 2 Numbers "], [" 3 Settings that differ "]]


async def test_one_pane_at_a_time_where_there_is_little_room(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 24)) as stage:
        panes = stage.screen.panes
        for key, shown in (("2", 1), ("tab", 2), ("1", 0)):
            await stage.press(key)
            assert [bool(pane.region) for pane in panes] == [at == shown for at in range(3)]
            assert stage.screen.focused is panes[shown]
            assert "1 Examples 12     2 Numbers 7     3 Settings" in stage.text("pane-tabs")
            keys = stage.text("keys")
            assert "z zoom" not in keys and ("s sort" in keys) == (shown == 0)
        await stage.pilot.click("#pane-tabs", offset=(22, 0))
        await stage.pilot.pause()
        assert stage.screen.focused is panes[1]
        await stage.press("z")
        assert not stage.screen.grid.has_class("-zoomed")


async def test_nothing_harmful_of_a_run_reaches_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]52;c;c3RvbGVu\x07\x9b31m[/foo]\u202eabc\ud800\r\x08 end"
    paths = two_runs(tmp_path)
    path = paths[1] / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["example_id"] = evil
        row["metrics"][evil] = 1.0
        row["prompt"][0]["content"] = evil
        row["completion"].append({"role": evil, "content": evil})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    details = json.loads((paths[1] / "metadata.json").read_text())
    (paths[1] / "metadata.json").write_text(json.dumps(details | {"env_id": evil, "model": evil}))
    async with comparing(runs_screen(paths), (200, 60)) as stage:
        for keys in (("2",), ("1", "enter"), ("G",), ("v",)):
            await stage.press(*keys)
            shown = stage.app.export_screenshot(simplify=True)
            assert not {"\x1b", "\x9b", "\u202e", "\x07", "\x08"} & set(shown)


async def test_a_terminal_that_is_resized_behind_the_help_is_as_one_that_was_so_from_the_start(
    tmp_path: Path,
) -> None:
    paths = two_runs(tmp_path)
    async with comparing(runs_screen(paths), (120, 40)) as stage:
        fresh = seen(stage.app)
        assert "q quit" in fresh and "passes from 0.5" in fresh
    async with comparing(runs_screen(paths), (200, 60)) as stage:
        await stage.press("question_mark")
        await stage.pilot.resize_terminal(120, 40)
        await stage.press("escape")
        await stage.until(lambda: seen(stage.app) == fresh)

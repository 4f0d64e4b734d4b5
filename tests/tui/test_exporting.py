"""Exports from the screen of a run: another process writes them, and nothing is lost on the way."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_on_disk import feed_on_disk, run_on_disk
from staging import Stage, over, staged_app

from tui_eval.runs.export import writer
from tui_eval.runs.export.child import Wanted
from tui_eval.runs.export.process import Export
from tui_eval.tui.copying.export_form import ExportDialog


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def came_about(stage: Stage, condition: Callable[[], Any]) -> None:
    """Waits for what another process does, however busy the machine is."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "this never came about"
        await stage.pilot.pause(0.02)


async def opened(stage: Stage) -> Any:
    """The form of an export over a run that was read."""
    await stage.until(lambda: stage.app.state.finished == 4)
    await stage.press("x")
    dialog = stage.app.screen
    assert isinstance(dialog, ExportDialog)
    return dialog


async def test_the_whole_run_is_written_and_the_screen_says_where(here: Path) -> None:
    feed, _ = feed_on_disk(here / "sums--tiny" / "0a1b")
    async with staged_app(feed) as stage:
        dialog = await opened(stage)
        assert stage.text(dialog.box).count("●") == 2
        await stage.press("k", "k", "k", "k", "enter")
        await came_about(stage, lambda: stage.app.screen is stage.live)
        assert stage.live.keys.message == "4 rollouts written to sums--tiny-0a1b.jsonl"
    lines = (here / "sums--tiny-0a1b.jsonl").read_text()
    assert lines == (here / "sums--tiny" / "0a1b" / "results.jsonl").read_text()


async def test_what_is_listed_is_written_in_its_order(here: Path) -> None:
    feed, run = feed_on_disk(here / "run")
    async with staged_app(feed) as stage:
        await stage.until(lambda: stage.app.state.finished == 4)
        await stage.press("slash", *"reward>0.2", "enter", "s", "j", "j", "j", "enter")
        dialog = await opened(stage)
        assert "the 3 listed: reward>0.2" in stage.text(dialog.box)
        assert dialog.box.part.where == "reward>0.2"
        shown = [stage.live.rollouts.listing.row(line) for line in range(3)]
        dialog.box.path.put("some.jsonl")
        dialog.box.chosen["format"] = 0
        await stage.press("enter")
        await came_about(stage, lambda: stage.app.screen is stage.live)
    saved = run.results.read_text().splitlines()
    assert (here / "some.jsonl").read_text().splitlines() == [saved[row] for row in shown]


async def test_one_rollout_and_another_format(here: Path) -> None:
    feed, _ = feed_on_disk(here / "run")
    async with staged_app(feed) as stage:
        dialog = await opened(stage)
        await stage.press("k", "tab", "j")
        assert dialog.box.path.text.endswith("-run-example-0-0.md")
        await stage.press("tab", "ctrl+u", *"jgk q.csv")
        assert dialog.box.path.text == "jgk q.csv"
        await stage.press("shift+tab", "shift+tab", "down")
        assert dialog.box.path.text == "jgk q.html"
        await stage.press("enter")
        await came_about(stage, lambda: stage.app.screen is stage.live)
    page = (here / "jgk q.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<details") >= 1


async def test_nothing_is_replaced_silently(here: Path) -> None:
    feed, _ = feed_on_disk(here / "run")
    (here / "mine.html").write_text("mine")
    async with staged_app(feed) as stage:
        dialog = await opened(stage)
        await stage.press("tab", "tab", "ctrl+u", *"mine.html")
        assert "there already" in stage.text(dialog.box)
        await stage.press("enter")
        assert "enter again replaces it" in stage.text(dialog.box)
        assert (here / "mine.html").read_text() == "mine"
        await stage.press("enter")
        await came_about(stage, lambda: stage.app.screen is stage.live)
    assert (here / "mine.html").read_text() != "mine"


async def test_what_stands_in_the_way_is_shown_before_and_after(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    feed, run = feed_on_disk(here / "run")
    async with staged_app(feed) as stage:
        dialog = await opened(stage)
        await stage.press("k", "k")
        assert "pip install 'tui-eval[parquet]'" in stage.text(dialog.box)
        await stage.press("enter")
        assert stage.app.screen is dialog
        await stage.press("tab", "tab", "ctrl+u", *"no/where.csv")
        await stage.press("shift+tab", "shift+tab", "k")
        assert "there is no folder no" in stage.text(dialog.box)
        dialog.box.path.put("a.csv")
        dialog.box._look()
        run.results.write_text("")
        await stage.press("enter")
        await came_about(
            stage, lambda: "none of these rollouts is on disk" in stage.text(dialog.box)
        )
        await stage.press("escape")
        assert stage.app.screen is stage.live
    assert [one.name for one in here.iterdir()] == ["run"]


async def test_nothing_finished_is_nothing_to_export() -> None:
    from scripted_run import ScriptedFeed, run_started

    async with staged_app(ScriptedFeed([run_started()])) as stage:
        await stage.press("x")
        assert stage.app.screen is stage.live
        assert "Nothing has finished yet" in stage.live.keys.message


async def test_a_run_that_is_gone_is_shown() -> None:
    async with staged_app(over()) as stage:
        await stage.press("x", "enter")
        dialog: Any = stage.app.screen
        await came_about(stage, lambda: "there is no such file" in stage.text(dialog.box))


@pytest.mark.slow
async def test_a_cancelled_export_leaves_neither_file_nor_process(here: Path) -> None:
    run = run_on_disk(here / "run")
    row = run.results.read_text().splitlines(keepends=True)[0]
    run.results.write_text(row * 1)
    with open(run.results, "a") as file:
        for number in range(1, 20_000):
            file.write(row.replace('"example_id": 0', f'"example_id": {number}', 1))
    metadata = {"env_id": "sums", "model": "m", "num_examples": 20_000, "rollouts_per_example": 1}
    run.metadata.write_text(json.dumps(metadata))
    export = Export(Wanted(str(run.path), "html", str(here / "a.html")))

    writing = asyncio.create_task(export.write())
    for _ in range(3000):
        await asyncio.sleep(0.02)
        if 0 < export.written < export.total:
            break
    assert 0 < export.written < export.total
    export.cancel()
    await writing
    assert [one.name for one in here.iterdir()] == ["run"]
    assert export._process is not None and export._process.returncode is not None


def test_the_process_says_why_it_cannot(here: Path) -> None:
    run = run_on_disk(here / "run")
    wanted = {"run": str(run.path), "kind": "csv", "path": str(here / "none" / "a.csv")}
    done = subprocess.run(
        [sys.executable, "-m", "tui_eval.runs.export.child"],
        input=json.dumps(wanted).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    ((where, what, _),) = json.loads(done.stdout)["faults"]
    assert "a.csv" in where and "No such file" in what


async def test_a_path_of_a_user_who_is_not_there_is_a_path_like_any_other(here: Path) -> None:
    feed, _ = feed_on_disk(here / "run")
    async with staged_app(feed) as stage:
        dialog = await opened(stage)
        while dialog.box.group != "file":
            await stage.press("tab")
        await stage.press("ctrl+u", *"~nobody_x/a.csv", "enter")
        await came_about(stage, lambda: "✗" in stage.text(dialog.box))
        assert stage.app.screen is dialog

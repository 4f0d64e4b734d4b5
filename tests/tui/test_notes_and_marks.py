"""Notes, tags and marks of rollouts as the list shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_on_disk import scripted_on_disk
from staging import Stage, over, staged_app, staged_suite

from tui_eval.fold.columns import Note
from tui_eval.runs.layout import RunDir
from tui_eval.runs.notes import read_notes, write_note
from tui_eval.tui.compare.rollouts_screen import CompareRollouts


def shown(stage: Stage) -> str:
    return stage.text(stage.live.rollouts)


def listed(stage: Stage) -> list[int]:
    rollouts = stage.live.rollouts
    return [rollouts.listing.row(line) for line in range(rollouts.count())]


async def test_a_note_is_kept_beside_the_run_and_found_by_its_tag(tmp_path: Path) -> None:
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        await stage.press("j", "a", *"odd", "space", *"end", "tab", *"check", "enter")
        await stage.until(lambda: read_notes(RunDir(tmp_path)))
        assert read_notes(RunDir(tmp_path)) == {("0", 1): Note("odd end", ("check",))}
        await stage.until(lambda: "✎" in shown(stage).splitlines()[2])
        assert "Trajectory · example 0 #1" in str(stage.live.trajectory.border_title)
        assert stage.text(stage.live.reward).split()[:4] == ["✎", "#check", "odd", "end"]
        stage.live.rollouts.filter_by("tag:check")
        await stage.until(lambda: listed(stage) == [1])
        await stage.press("a", "ctrl+u", "tab", "ctrl+u", "enter")
        await stage.until(lambda: not read_notes(RunDir(tmp_path)))
        await stage.until(lambda: listed(stage) == [])


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_what_an_example_came_to_stays_beside_notes(
    size: tuple[int, int], tmp_path: Path
) -> None:
    write_note(RunDir(tmp_path), 0, 2, Note("", ("odd", "check")))
    async with staged_app(scripted_on_disk(tmp_path), size=size) as stage:
        await stage.until(lambda: "#odd" in shown(stage).splitlines()[3])
        assert shown(stage).splitlines()[3].rstrip().endswith(" #odd #check")
        assert "mean ±std" in shown(stage).splitlines()[0]


async def test_notes_that_are_there_are_shown(tmp_path: Path) -> None:
    write_note(RunDir(tmp_path), 0, 2, Note("said twice", ("odd",)))
    async with staged_app(scripted_on_disk(tmp_path), size=(80, 24)) as stage:
        await stage.until(lambda: "#odd  said…" in shown(stage).splitlines()[3])
        assert "mean ±std pass@4" in shown(stage).splitlines()[0]
        await stage.press("j", "j", "5")
        await stage.until(lambda: "✎ #odd" in stage.text(stage.live.reward))
        assert "said twice" in stage.text(stage.live.reward)


async def test_tags_are_shown_whole_and_before_the_note(tmp_path: Path) -> None:
    write_note(RunDir(tmp_path), 0, 0, Note("said twice", ("odd", "check")))
    write_note(RunDir(tmp_path), 0, 1, Note("said twice", ("odd", "check-it-again")))
    write_note(RunDir(tmp_path), 0, 2, Note("said twice", ("check-it-again", "odd")))
    write_note(RunDir(tmp_path), 0, 3, Note("said twice"))
    async with staged_app(scripted_on_disk(tmp_path), size=(80, 24)) as stage:
        await stage.until(lambda: "#odd" in shown(stage))
        found = [line.partition("done")[2].strip() for line in shown(stage).splitlines()[1:5]]
        assert found == ["#odd #check", "◆✗  #odd …", "#check-it-…", "said twice"]


async def test_a_note_that_cannot_be_kept_says_why(tmp_path: Path) -> None:
    feed = scripted_on_disk(tmp_path)
    (tmp_path / "notes.jsonl").mkdir()
    async with staged_app(feed) as stage:
        await stage.press("a", *"x", "enter")
        await stage.until(lambda: "cannot be kept" in stage.text(stage.live.keys))


async def test_a_mark_stays_said_and_is_given_to_the_comparison() -> None:
    async with staged_app(over()) as stage:
        await stage.press("d")
        assert "m marks" in stage.text(stage.live.keys)
        await stage.press("j", "m", "j", "j")
        assert "A: example 0 #1" in stage.text(stage.live.keys)
        assert " A" in shown(stage).splitlines()[2]
        await stage.press("d")
        screen = stage.app.screen
        assert isinstance(screen, CompareRollouts)
        await stage.until(lambda: screen.is_ready)
        assert screen.rows == (1, 3)
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.live)
        await stage.press("escape")
        assert "A: example" not in stage.text(stage.live.keys)


@pytest.mark.parametrize("staging", [staged_suite, lambda **how: staged_app(over(), **how)])
async def test_escape_lets_go_of_the_mark_in_the_list_and_the_keys_say_so(staging: Any) -> None:
    async with staging(size=(120, 40)) as stage:
        await stage.press("1")
        assert "unmark" not in stage.text(stage.live.keys)
        await stage.press("m", "z")
        assert "A: example" in stage.text(stage.live.keys)
        assert "esc unmark" in stage.text(stage.live.keys)
        await stage.press("escape")
        assert "A: example" not in stage.text(stage.live.keys)
        assert "unmark" not in stage.text(stage.live.keys)
        assert stage.live.zoom.is_zoomed
        await stage.press("escape")
        assert not stage.live.zoom.is_zoomed

"""Copying from a run: the exact choice goes to the clipboard and to a file."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from run_on_disk import feed_on_disk
from scripted_conversation import USER
from scripted_rows import saved_row, saved_rows
from scripted_run import ScriptedFeed, all_events, finished, run_started
from staging import Stage, over, running, staged_app

from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.terminal.copied import MOST_BYTES
from tui_eval.tui.copying.copyable import Menu, MenuLines, of_example

HOSTILE = "\x1b]52;c;aGVsbG8=\x07 [/foo] \x9b31m é \ud83d"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(cache: Path) -> str:
    return (cache / "copied.txt").read_bytes().decode()


async def copied(stage: Stage, *keys: str) -> str:
    """The sentence after a choice from the menu."""
    stage.live.keys.message = ""
    await stage.press("y")
    assert isinstance(stage.app.screen, Menu)
    await stage.press(*keys)
    await stage.until(lambda: stage.live.keys.message)
    return str(stage.live.keys.message)


async def test_a_tool_call_is_copied_as_json_and_its_result_as_it_is(cache: Path) -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "2", "g", "right_parenthesis")
        shown = await copied(stage, "c")
        assert ": the tool call, " in shown
        assert shown.endswith("copied.txt")
        call = {"id": "c1", "name": "multiply", "arguments": {"a": 14, "b": 36}}
        assert json.loads(stage.app.clipboard) == json.loads(kept(cache)) == call
        assert ": the result of the call" in await copied(stage, "o")
        assert stage.app.clipboard == kept(cache) == "504"


async def test_a_path_too_long_for_the_menu_is_shown_by_its_end(cache: Path) -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("j", "2", "g", "right_parenthesis", "y")
        menu = stage.app.screen.query_one(MenuLines)
        path = next(line for line in stage.text(menu).splitlines() if " path " in line)
        assert path.split()[-1].startswith("…") and path.endswith("gpt-4.1-mini/3f9a2c10")


async def test_enter_the_same_key_and_a_click_choose(cache: Path) -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "2", "g", "j")
        await copied(stage, "enter")
        assert kept(cache) == USER["content"]
        await stage.press("j")
        await copied(stage, "y")
        assert kept(cache).startswith("First the candles of one day")
        await copied(stage, "down", "enter")
        assert kept(cache).startswith("14 boxes of 36 is the daily number")
        await stage.press("y")
        menu = stage.app.screen
        assert isinstance(menu, Menu)
        await stage.pilot.click(menu.box, offset=(6, 2))
        await stage.until(lambda: kept(cache).startswith("14 boxes"))


async def test_escape_copies_nothing(cache: Path) -> None:
    async with staged_app(over()) as stage:
        await stage.press("y", "escape")
        assert stage.app.screen is stage.live
        assert not cache.exists()


async def test_a_text_is_copied_exactly_and_only_its_owner_reads_the_file(cache: Path) -> None:
    rows = saved_rows()
    rows[0] = saved_row(0, prompt=[{"role": "user", "content": HOSTILE}])
    async with staged_app(ScriptedFeed(all_events(), rows, live=False)) as stage:
        await stage.press("2", "g")
        await copied(stage, "m")
        assert kept(cache) == HOSTILE.replace("\ud83d", "\\ud83d")
        assert stage.app.clipboard == kept(cache)
    assert stat.S_IMODE((cache / "copied.txt").stat().st_mode) == 0o600
    assert [one.name for one in cache.iterdir()] == ["copied.txt"]


async def test_what_no_clipboard_takes_is_in_the_file_only(cache: Path) -> None:
    rows = saved_rows()
    rows[0] = saved_row(0, prompt=[{"role": "user", "content": "x" * (MOST_BYTES + 1)}])
    async with staged_app(ScriptedFeed(all_events(), rows, live=False)) as stage:
        await stage.press("2", "g")
        shown = await copied(stage, "m")
        assert shown.startswith("Too long for a clipboard, 74 kB: the user message is in ")
        assert stage.app.clipboard == ""
        assert len(kept(cache)) == MOST_BYTES + 1


async def test_without_a_file_the_clipboard_has_it_and_the_reason_is_shown(cache: Path) -> None:
    cache.write_text("this is no folder")
    async with staged_app(over()) as stage:
        await stage.press("2", "g")
        shown = await copied(stage, "m")
        assert "no file could be written" in shown
        assert stage.app.clipboard


async def test_a_running_rollout_is_copied_as_far_as_it_is_known(cache: Path) -> None:
    async with staged_app(running()) as stage:
        assert "whole rollout" in await copied(stage, "w")
        whole = json.loads(kept(cache))
        assert whole["stage"] == "tool"
        assert whole["prompt"][1] == USER
        assert whole["completion"][0]["role"] == "assistant"


async def test_a_saved_rollout_is_its_line_and_the_run_its_path_and_command(
    cache: Path, tmp_path: Path
) -> None:
    feed, run = feed_on_disk(tmp_path / "run")
    async with staged_app(feed) as stage:
        await stage.until(lambda: stage.app.state.finished == 4)
        await stage.press("j")
        await copied(stage, "w")
        lines = run.results.read_text().splitlines()
        assert kept(cache) == lines[1]
        await copied(stage, "p")
        assert kept(cache) == str(run.path)
        shown = await copied(stage, "r")
        assert kept(cache) == "tui-eval run sums -m tiny -n 2 -r 2"
        assert "without -H, " in shown
        await stage.press("j")
        details = json.loads(run.metadata.read_text())
        run.metadata.write_text(json.dumps(details | {"sampling_args": {"n": 1}}))
        await copied(stage, "x")
        assert kept(cache) == "tui-eval run sums -m tiny --examples 1 -r 1"


def test_an_example_has_no_command_before_its_id_is_known() -> None:
    state = RunState()
    for event in (run_started(), finished(0, example_id="q-17")):
        state.apply(event)
    each = state.per_example
    assert [one.note for one in of_example(state, 1)] == ["runs example q-17 alone, once"]
    assert not [*of_example(state, each)], "its place is not its id in a dataset that was shuffled"


async def test_what_cannot_be_copied_is_shown(cache: Path) -> None:
    async with staged_app(over()) as stage:
        assert (await copied(stage, "w")).startswith("Not copied: ")
        assert (await copied(stage, "r")).startswith("Not copied: ")
        assert not cache.exists()

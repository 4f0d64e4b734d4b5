"""A rollout, a piece of it and the log in somebody's own pager and editor."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from program import Program
from run_on_disk import feed_on_disk, run_on_disk
from scripted_rows import saved_row, saved_rows
from scripted_run import ScriptedFeed, all_events
from staging import over, running, staged_app
from terminal import PATIENCE_S, Terminal

from tui_eval.printable import printable
from tui_eval.runs.export.one_rollout import plain_json
from tui_eval.tui.copying.elsewhere import NoProgramError, Readable, read_elsewhere
from tui_eval.tui.copying.elsewhere import program as reading_program

HOSTILE = "\x1b]52;c;aGVsbG8=\x07 \x9b31m\u202e e\u0301 \ud83d \U0001f3fd"
READER = """#!/bin/sh
cp "$1" "$KEPT"
stat -c %a "$1" > "$KEPT.mode"
echo "$1" > "$KEPT.path"
printf 'READING\\r\\n'
read line
exit "${line:-0}"
"""


def test_who_is_named_comes_first_and_a_wrong_name_is_shown(tmp_path: Path) -> None:
    mine = tmp_path / "my pager"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    assert reading_program(False, {"PAGER": f"'{mine}' -R"}) == [str(mine), "-R"]
    assert reading_program(True, {"VISUAL": str(tmp_path / "my\\ pager"), "EDITOR": "no"})
    with pytest.raises(NoProgramError, match=r"\$PAGER names no-such-pager, which is not there"):
        reading_program(False, {"PAGER": "no-such-pager"})
    with pytest.raises(NoProgramError, match=r"\$EDITOR is no command"):
        reading_program(True, {"EDITOR": "vi 'x"})


def test_without_a_name_or_a_program_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name == "more" else None)
    assert reading_program(False, {}) == ["/bin/more"]
    with pytest.raises(NoProgramError, match=r"There is no editor: set \$EDITOR"):
        reading_program(True, {})


def test_a_program_that_fails_is_named_as_it_is_written() -> None:
    app: Any = SimpleNamespace(suspend=nullcontext)
    fault = read_elsewhere(app, ["false"], Readable("text", ".md"))
    assert fault == "The program false ended with exit code 1"


def test_json_is_exact_and_harmless() -> None:
    value = {"a": HOSTILE, "b": ["\ttab\nline", 1e300, None], HOSTILE: True}
    text = plain_json(value)
    assert json.loads(text) == value
    assert printable(text) == text
    assert "e\u0301" in text


async def test_without_a_terminal_of_its_own_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "cat")
    async with staged_app(over()) as stage:
        await stage.press("o")
        await stage.until(lambda: stage.live.keys.message)
        assert stage.live.keys.message == "This terminal cannot be lent to another program."
        monkeypatch.setenv("EDITOR", "no-such-editor")
        monkeypatch.delenv("VISUAL", raising=False)
        await stage.press("O")
        assert "$EDITOR names no-such-editor" in stage.live.keys.message


async def test_what_is_read_is_what_has_the_focus(tmp_path: Path) -> None:
    rows = saved_rows()
    rows[1] = saved_row(1, prompt=[{"role": "user", "content": HOSTILE}])
    async with staged_app(ScriptedFeed(all_events(), rows, live=False)) as stage:
        await stage.press("j")
        read = stage.live.copy_export._readable
        whole = await read(False)
        assert whole.text.startswith("## example 0, rollout 1\n") and "### answer" in whole.text
        assert printable(whole.text) == whole.text
        await stage.press("2", "g")
        assert (await read(False)).text == printable(HOSTILE) + "\n"
        await stage.press("right_parenthesis")
        call = json.loads((await read(True)).text)
        assert (call["name"], call["result"]) == ("multiply", "504")
        await stage.press("4")
        assert (await read(False)).text == stage.feed.logged.decode()
    async with staged_app(running()) as stage:
        running_one = await stage.live.copy_export._readable(False)
        assert "- reward: –" in running_one.text and "nan" not in running_one.text
        assert "First the candles of one day" in running_one.text
    feed, run = feed_on_disk(tmp_path / "run")
    async with staged_app(feed) as stage:
        await stage.until(lambda: stage.app.state.finished == 4)
        line = json.loads(run.results.read_text().splitlines()[0])
        assert json.loads((await stage.live.copy_export._readable(True)).text) == line


@pytest.fixture
def reader(program: Program) -> Path:
    """A pager that keeps what it was given, and ends with the exit code that is typed."""
    path = program.folder / "reader"
    path.write_text(READER)
    path.chmod(0o755)
    program.env |= {"PAGER": str(path), "EDITOR": str(path), "VISUAL": ""}
    program.env["KEPT"] = str(program.folder / "kept")
    return program.folder / "kept"


@pytest.fixture
def on_terminal(program: Program) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(*args: str) -> Terminal:
        opened.append(Terminal(program.folder, program.env, *args))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


def test_the_terminal_goes_to_the_pager_and_comes_back(
    program: Program, reader: Path, on_terminal: Callable[..., Terminal]
) -> None:
    run_on_disk(program.folder / "run")
    terminal = on_terminal("open", "run")
    terminal.wait_for("assistant · turn 2")
    terminal.type("o")
    terminal.wait_for("READING")
    assert terminal.raw.rfind(b"\x1b[?1049l") > terminal.raw.rfind(b"\x1b[?1049h")
    os.kill(terminal.process.pid, signal.SIGINT)  # Ctrl-C is for the pager
    terminal.screen.reset()
    terminal.type("\n")
    terminal.wait_for("1 Rollouts")
    assert reader.read_text().startswith("## example 0, rollout 0\n")
    assert (program.folder / "kept.mode").read_text() == "400\n"
    assert not Path((program.folder / "kept.path").read_text().strip()).exists()
    reader.unlink()
    terminal.screen.reset()
    terminal.type("O")
    terminal.wait_for("READING")
    terminal.type("3\n")
    terminal.wait_for("ended with exit code 3")
    assert json.loads(reader.read_text())["answer"] == "2493"
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.is_whole()


@pytest.mark.slow
def test_a_signal_ends_the_pager_and_leaves_the_terminal_whole(
    program: Program, reader: Path, on_terminal: Callable[..., Terminal]
) -> None:
    run_on_disk(program.folder / "run")
    terminal = on_terminal("open", "run")
    terminal.wait_for("assistant · turn 2")
    terminal.type("o")
    terminal.wait_for("READING")
    os.kill(terminal.process.pid, signal.SIGTERM)
    terminal.finish()
    assert terminal.is_whole()
    assert not Path((program.folder / "kept.path").read_text().strip()).exists()


@pytest.mark.slow
def test_a_window_that_is_closed_while_the_editor_is_open_ends_both(
    program: Program, reader: Path, on_terminal: Callable[..., Terminal]
) -> None:
    run_on_disk(program.folder / "run")
    terminal = on_terminal("open", "run")
    terminal.wait_for("assistant · turn 2")
    terminal.type("O")
    terminal.wait_for("READING")
    terminal.hang_up()
    assert terminal.process.wait(PATIENCE_S) == 0
    assert not Path((program.folder / "kept.path").read_text().strip()).exists()

"""A copy is confirmed only where a program confirms it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from staging import Stage, over, staged_app


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that goes before all others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The command of a server of tmux of its own, in which the app runs."""
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux")
    command = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    subprocess.run([*command, "new-session", "-d", "sleep 600"], check=True)
    monkeypatch.setenv("TMUX", f"{tmp_path / 'tmux'},1,0")
    yield command
    subprocess.run([*command, "kill-server"], check=True)


def write_program(path: Path, does: str) -> None:
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)


async def copied(stage: Stage) -> str:
    """The message after copying."""
    await stage.press("2", "g", "y", "m")
    await stage.until(lambda: stage.live.keys.message)
    return str(stage.live.keys.message)


def kept(tmp_path: Path) -> str:
    return (tmp_path / "cache" / "copied.txt").read_text()


async def test_a_terminal_that_answers_nothing_is_not_said_to_have_it(tmp_path: Path) -> None:
    async with staged_app(over()) as stage:
        output = await copied(stage)
        assert output.startswith(
            "Sent to the terminal's clipboard, if it takes it: the system message"
        )
        assert stage.app.clipboard == kept(tmp_path)


async def test_in_tmux_it_is_in_the_buffer_that_tmux_pastes(
    tmux: list[str], tmp_path: Path
) -> None:
    async with staged_app(over()) as stage:
        output = await copied(stage)
        assert (
            output.startswith("Copied the system message, ")
            and ", into the buffer of tmux" in output
        )
    shown = subprocess.run([*tmux, "show-buffer"], check=True, capture_output=True, text=True)
    assert shown.stdout == kept(tmp_path)


async def test_a_tmux_that_is_gone_is_named_with_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", f"{tmp_path / 'gone'},1,0")
    async with staged_app(over()) as stage:
        assert "if it takes it (tmux: with set-clipboard on): the" in await copied(stage)


@pytest.mark.parametrize(
    ("variable", "name"), [("DISPLAY", "xclip"), ("WAYLAND_DISPLAY", "wl-copy")]
)
async def test_the_desktops_own_program_has_it_but_not_over_ssh(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    write_program(programs / name, f"cat > {tmp_path}/clipboard; sleep 1 &")
    monkeypatch.setenv(variable, "0")
    async with staged_app(over()) as stage:
        assert (await copied(stage)).startswith("Copied the system message, ")
        assert (tmp_path / "clipboard").read_text() == kept(tmp_path)
        (tmp_path / "clipboard").unlink()
        monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
        stage.live.keys.message = ""
        assert (await copied(stage)).startswith("Sent to the terminal's clipboard")
        assert not (tmp_path / "clipboard").exists()


async def test_a_program_that_fails_has_copied_nothing(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(programs / "xclip", "exit 1")
    monkeypatch.setenv("DISPLAY", ":99")
    async with staged_app(over()) as stage:
        assert (await copied(stage)).startswith("Sent to the terminal's clipboard")

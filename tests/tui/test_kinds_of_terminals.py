"""Differences between terminals: keys, the mouse, and those that show lines only."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program import Program
from terminal import Terminal


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Program:
    program = Program(tmp_path_factory.mktemp("saved"))
    program.run("reverse-text", "-m", "demo", "-n", "5", "-r", "1", "-s")
    return program


@pytest.fixture
def opened(saved: Program) -> Iterator[Callable[..., Terminal]]:
    terminals: list[Terminal] = []

    def start(*args: str, term: str = "xterm-256color", **env: str) -> Terminal:
        terminals.append(Terminal(saved.folder, {**saved.env, **env}, *args, term=term))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def run_of(saved: Program) -> list[str]:
    return ["open", str(saved.only_run().path)]


@pytest.mark.slow
def test_a_key_does_the_same_by_whatever_protocol_it_comes(
    opened: Callable[..., Terminal], saved: Program
) -> None:
    terminal = opened(*run_of(saved))
    terminal.wait_for("finished in")
    for control_h, alt_b, alt_f in (
        ("\x08", "\x1bb", "\x1bf"),
        ("\x1b[104;5u", "\x1b[98;3u", "\x1b[102;3u"),  # the protocol of kitty
    ):
        terminal.type(f"/one two{control_h}")
        terminal.wait_for("/ one tw ")
        terminal.type(f"{alt_b}X")
        terminal.wait_for("/ one Xtw")
        terminal.type(f"{alt_f}Y")
        terminal.wait_for("/ one XtwY")
        terminal.type("\x1b")
        terminal.wait_for(lambda: "/ one" not in terminal.text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("term", "delete"), [("st-256color", "\x1b[P"), ("xterm-256color", "\x1b[3~")]
)
def test_delete_deletes(
    opened: Callable[..., Terminal], saved: Program, term: str, delete: str
) -> None:
    terminal = opened(*run_of(saved), term=term)
    terminal.wait_for("finished in")
    terminal.type(f"/abc\x1b[D\x1b[D{delete}x")
    terminal.wait_for("/ axc")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "env"), [(["--no-mouse"], {}), ([], {"TUI_EVAL_NO_MOUSE": "1"})], ids=["flag", "env"]
)
def test_without_the_mouse_the_terminal_keeps_it(
    opened: Callable[..., Terminal], saved: Program, args: list[str], env: dict[str, str]
) -> None:
    terminal = opened(*run_of(saved), *args, **env)
    terminal.wait_for("finished in")
    assert b"\x1b[?1000h" not in terminal.raw and b"\x1b[?1003h" not in terminal.raw


def test_a_dumb_terminal_gets_lines(
    opened: Callable[..., Terminal], saved: Program, program: Program
) -> None:
    terminal = opened(*run_of(saved), term="dumb")
    assert terminal.finish() == 0
    assert b"\x1b" not in terminal.raw and b"reverse-text" in terminal.raw
    words = ("run", "reverse-text", "-m", "demo", "-n", "2", "-r", "1")
    running = Terminal(program.folder, program.env, *words, term="dumb")
    try:
        assert running.finish() == 0
        assert b"\x1b" not in running.raw and b"Unsaved, kept 14 days" in running.raw
    finally:
        running.close()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_in_tmux_on_a_terminal_of_eight_colours_nothing_is_black_on_black(
    saved: Program, tmp_path: Path
) -> None:
    conf, server = tmp_path / "tmux.conf", ["tmux", "-S", str(tmp_path / "tmux")]
    conf.write_text("set -g default-terminal tmux-256color\n")
    shell = shlex.join([sys.executable, "-m", "tui_eval", *run_of(saved)])
    terminal = Terminal(
        saved.folder,
        {**saved.env, "COLORTERM": "", "TMUX": "", "LC_ALL": "C.UTF-8"},
        *(*server, "-u", "-f", str(conf), "new-session", shell),
        command=("-c", "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"),
        term="screen",
    )
    try:
        terminal.wait_for("finished in")
        terminal.wait_for("Reward · example")
        cells = [sign for line in terminal.screen.buffer.values() for sign in line.values()]
        inks = {sign.fg for sign in cells if sign.data in "─━│█" and sign.bg != "green"}
        assert inks == {"default"}
    finally:
        subprocess.run([*server, "kill-server"], check=False, capture_output=True)
        terminal.close()


@pytest.mark.slow
@pytest.mark.parametrize("utf8", ["0", "1"])
def test_a_locale_that_is_not_there_does_no_harm(
    opened: Callable[..., Terminal], saved: Program, utf8: str
) -> None:
    env = {"LC_ALL": "xx_YY.ISO-8859-99", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0"}
    terminal = opened(*run_of(saved), **env)
    terminal.wait_for("finished in")
    terminal.type("/é│")
    terminal.wait_for("/ é│")
    terminal.type("\x1b")
    terminal.wait_for(lambda: "/ é│" not in terminal.text)
    terminal.type("q")
    assert terminal.finish() == 0
    assert b"Traceback" not in terminal.raw

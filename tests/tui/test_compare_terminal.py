"""Comparing in a real terminal."""

from __future__ import annotations

import signal

import pytest
from compared_runs import two_runs
from program import Program
from terminal import Terminal


def test_comparing_on_a_terminal_is_a_screen_and_leaves_it_whole(program: Program) -> None:
    first, second = (str(path) for path in two_runs(program.folder))
    terminal = Terminal(program.folder, program.env, "compare", first, second, "--only", "fixed")
    terminal.wait_for("fixed 3 of 12")
    terminal.type("\r")
    terminal.wait_for("they part here")
    terminal.type("q")
    terminal.wait_for("Settings that differ")
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.is_whole()


@pytest.mark.parametrize("how", ["ctrl+c", signal.SIGTERM], ids=str)
def test_the_terminal_is_whole_after_a_signal(program: Program, how: signal.Signals | str) -> None:
    runs = (str(path) for path in two_runs(program.folder))
    terminal = Terminal(program.folder, program.env, "compare", *runs)
    terminal.wait_for("greatest difference first")
    if how == "ctrl+c":
        terminal.type("\x03")
    else:
        terminal.process.send_signal(how)
    terminal.finish()
    assert terminal.is_whole()


def test_debug_prints_on_a_terminal_too(program: Program) -> None:
    runs = (str(path) for path in two_runs(program.folder))
    terminal = Terminal(program.folder, program.env, "compare", *runs, "-d")
    assert terminal.finish() == 0
    assert "fixed 3, broken 1, both wrong 1, both right 7" in terminal.text


def test_what_is_no_run_is_refused_before_the_screen(program: Program) -> None:
    terminal = Terminal(program.folder, program.env, "compare", "nowhere", "neither")
    assert terminal.finish() == 2
    assert "error: nowhere: there is no such file or directory" in terminal.text
    assert "error: neither" in terminal.text

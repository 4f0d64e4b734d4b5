"""The line on a terminal while the screen is loaded is erased afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from program import Program
from terminal import Terminal

LINE, ERASED, SCREEN = b"tui-eval is starting", b"\r\x1b[K", b"\x1b[?1049h"
SLOW_TO_LOAD = """
import importlib.abc, pathlib, sys, time

class Waits(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "textual.app":
            pathlib.Path("waits").touch()
            while not pathlib.Path("go").exists():
                time.sleep(0.01)

sys.meta_path.insert(0, Waits())
"""


@pytest.mark.slow
def test_a_line_stands_there_until_the_screen_is_drawn(program: Program) -> None:
    program.happens_at_start(SLOW_TO_LOAD)
    terminal = Terminal(program.folder, program.env, "word-guess", "-m", "demo", "-n", "1", "-s")
    try:
        terminal.wait_for("tui-eval is starting")
        assert SCREEN not in terminal.raw
        (program.folder / "go").touch()
        terminal.wait_for("✓ finished")
        terminal.type("q")
        assert terminal.finish() == 0
        assert terminal.is_whole()
    finally:
        terminal.close()
    before, after = terminal.raw.split(SCREEN, 1)
    assert before.count(LINE) == 1
    assert before.endswith(ERASED)
    assert LINE not in after


def test_nothing_of_it_is_left_where_the_program_ends_before(program: Program) -> None:
    program.happens_at_start(SLOW_TO_LOAD)
    terminal = Terminal(program.folder, program.env, "home")
    try:
        terminal.wait_for("tui-eval is starting")
        terminal.wait_for((program.folder / "waits").exists)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.finish() == 130
        assert "tui-eval" not in terminal.text
    finally:
        terminal.close()


@pytest.mark.slow
def test_lines_begin_without_it(program: Program) -> None:
    args = ("word-guess", "-m", "demo", "-n", "1", "-d")
    terminal = Terminal(program.folder, program.env, *args, preloaded=False)
    try:
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert LINE not in terminal.raw


BEFORE_THE_LINE = """
import sys
import tui_eval.cli.demo, tui_eval.cli.main, tui_eval.cli.run, tui_eval.cli.screen
import tui_eval.config.values
print([name for name in ("msgspec", "typing_extensions") if name in sys.modules])
"""


def test_libraries_that_are_slow_to_compile_are_not_loaded_before_it() -> None:
    words = [sys.executable, "-c", BEFORE_THE_LINE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr

"""Selecting by dragging the mouse: of one pane only, as it is drawn, on a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program
from terminal import Terminal

MESSAGE = "Sent to the terminal's clipboard, if it takes it: the selection"


@pytest.fixture
def terminal(program: Program) -> Iterator[Terminal]:
    program.run("reverse-text", "-m", "demo", "-n", "5", "-r", "1", "-s")
    env = {**program.env, "TMUX": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    terminal = Terminal(program.folder, env, "open", str(program.only_run().path))
    terminal.wait_for("finished in")
    terminal.wait_for("Reverse the text")
    yield terminal
    terminal.close()


def place(terminal: Terminal, text: str) -> tuple[int, int]:
    """Where a text begins on the screen, as the mouse counts it."""
    lines = terminal.screen.display
    y = next(y for y, line in enumerate(lines) if text in line)
    return lines[y].index(text) + 1, y + 1


def kept(program: Program) -> Path:
    return Path(program.env["TUI_EVAL_CACHE_DIR"]) / "copied.txt"


def test_what_is_dragged_over_is_shown_and_copied(terminal: Terminal, program: Program) -> None:
    x, y = place(terminal, "Reverse the text")
    terminal.type(f"\x1b[<0;{x};{y}M\x1b[<32;{x + 3};{y}M\x1b[<32;{x + 12};{y + 1}M")
    terminal.wait_for(lambda: terminal.screen.buffer[y - 1][x + 5].reverse)
    first = terminal.screen.display[y - 1][x - 1 :].rstrip()
    second = terminal.screen.display[y][: x + 12].rpartition("│")[2].split("  ")[-1]
    assert not terminal.screen.buffer[y - 1][10].reverse  # the pane beside it
    terminal.type(f"\x1b[<0;{x + 12};{y + 1}m")
    terminal.wait_for(MESSAGE)
    text = kept(program).read_text()
    assert text.splitlines()[0] == first
    assert second and text.splitlines()[1].strip() == second.strip()
    assert not terminal.screen.buffer[y - 1][x + 5].reverse


def test_a_click_selects_nothing_and_a_drag_clicks_nothing(terminal: Terminal) -> None:
    x, y = place(terminal, "reward  ")
    row = y + 3
    terminal.type(f"\x1b[<0;{x};{row}M\x1b[<0;{x};{row}m")
    terminal.wait_for("Trajectory · example 2")
    terminal.type(f"\x1b[<0;{x};{row + 1}M\x1b[<32;{x + 4};{row + 1}M\x1b[<0;{x + 4};{row + 1}m")
    terminal.wait_for(MESSAGE)
    assert "Trajectory · example 2" in terminal.text

"""A terminal behind a slow line: keys are answered, it stalls and comes back, and it is left."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from program import Program

from bench.slow_terminal import SlowTerminal

pytestmark = pytest.mark.slow

DEMO = ("demo", "-n", "400", "-r", "16", "-c", "32")
PATIENCE_S = 30.0
MARGIN_S = 4.0
"""Behind thirty frames a key waits for 5 to 10 seconds, and a signal for more."""
FAST, SLOW, SLOWEST = 1_000_000, 20_000, 1_000


@pytest.fixture
def on(program: Program, answers: bool) -> Iterator[SlowTerminal]:
    command = [sys.executable, "-m", "tui_eval", *DEMO]
    env = {**program.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env["TUI_EVAL_DEMO_SPEED"] = "1"
    with SlowTerminal(command, env, program.folder, FAST, answers=answers) as terminal:
        terminal.read_until(lambda: "▶ 32" in terminal.lines[1], PATIENCE_S)
        yield terminal


def marked(on: SlowTerminal) -> int:
    """The line of the selected rollout; -1 while none is seen."""
    return next((at for at, line in enumerate(on.lines) if line[0] == "▌"), -1)


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "silent"])
def test_a_run_is_followed_over_a_slow_line(on: SlowTerminal, answers: bool) -> None:
    on.bytes_a_second = SLOW
    on.type(b"1g")
    on.read_until(lambda: marked(on) == 4, PATIENCE_S)
    on.read_for(4)
    on.type(b"j")
    assert on.seconds_until(lambda: marked(on) == 5, PATIENCE_S) < MARGIN_S
    on.bytes_a_second = 0
    on.type(b"j" * 1_000 + b"k" * 3_000 + b"jj")
    on.read_for(3)
    on.bytes_a_second = SLOW
    assert on.seconds_until(lambda: marked(on) == 6, PATIENCE_S) < MARGIN_S
    on.bytes_a_second = SLOWEST
    on.type(b"zz")
    on.read_for(2)
    on.process.send_signal(signal.SIGTERM)
    assert on.seconds_to_end(PATIENCE_S) < 2 * MARGIN_S
    on.bytes_a_second = FAST
    on.read_for(0.5)
    assert on.echoes
    assert on.output.rfind(b"\x1b[?1049l") > on.output.rfind(b"\x1b[?1049h")
    assert on.output.rfind(b"\x1b[?25h") > on.output.rfind(b"\x1b[?25l")
    assert b"\x1b[6n" not in on.output.rpartition(b"\x1b[?1049l")[2]

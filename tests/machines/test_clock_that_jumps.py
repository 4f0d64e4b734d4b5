"""A clock that is set while a run goes on makes no duration longer or shorter."""

from __future__ import annotations

import re

import pytest
from program import Program
from taken_away import HELD
from terminal import Terminal

pytestmark = pytest.mark.slow

JUMPS = """
import os, time
real = time.time
time.time = lambda: real() + (7200.0 if os.path.exists("set") else 0.0)
"""


def test_a_clock_that_jumps_by_hours_moves_no_duration(program: Program) -> None:
    program.environment("held", HELD)
    program.happens_at_start(JUMPS)
    terminal = Terminal(
        program.folder, program.env, "held", "-m", "demo", "-n", "2", "-r", "1", "-s"
    )
    try:
        terminal.wait_for("1/2")
        (program.folder / "set").touch()
        (program.folder / "go").touch()
        terminal.wait_for("2/2")
        terminal.wait_for("✓ finished")
        shown = terminal.text
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert not re.search(r"\b[12]:\d\d:\d\d\b|\b[12] ?h\b", shown), shown
    run = program.only_run()
    assert run.metadata["time_ms"] < 600_000
    first, second = sorted(row["tui_eval"]["steps"][0]["started"] for row in run.rows)
    assert 0 <= second - first < 600
    assert all(0 <= row["timing"]["total_ms"] < 600_000 for row in run.rows)

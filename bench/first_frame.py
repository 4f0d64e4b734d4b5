"""Time to the first frame of `tui-eval demo` against that of an empty Textual app."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figure import Figure, spread
from bench.setting import Setting
from bench.terminal import LINES, Terminal

EMPTY = ("-m", "bench.empty_app")
DEMO = ("-m", "tui_eval", "demo")
APPEARS_WITHIN_S = 10.0
LAST_LINE = f"\x1b[{LINES};1H".encode()
"""Textual paints its first frame line by line: this goes before the last one."""
QUIT = b"\x11"


def measure(setting: Setting) -> Iterator[Figure]:
    """Time from the start of the process until the last line of the terminal is painted."""
    for program in (EMPTY, DEMO):
        first_frame(setting, program)
    empty, demo = [], []
    for _ in range(setting.repeats(25, 7)):
        empty.append(first_frame(setting, EMPTY))
        demo.append(first_frame(setting, DEMO))
    walls = [frame.wall_ms for frame in demo], [frame.wall_ms for frame in empty]
    yield Figure(
        "first frame of the demo / of an empty app, wall",
        median(walls[0]) / median(walls[1]),
        1.5,
        "x",
        f"ms: demo {spread(walls[0])}; empty app {spread(walls[1])}",
    )
    cpu = [frame.cpu_ms for frame in demo], [frame.cpu_ms for frame in empty]
    yield Figure(
        "the same in CPU time, which other programs disturb less",
        median(cpu[0]) / median(cpu[1]),
        None,
        "x",
        f"ms: demo {spread(cpu[0])}; empty app {spread(cpu[1])}",
    )


@dataclass(frozen=True, slots=True)
class FirstFrame:
    """Cost of a first frame, from the start of the process: wall time, CPU of its main thread."""

    wall_ms: float
    cpu_ms: float


def first_frame(setting: Setting, program: tuple[str, ...]) -> FirstFrame:
    """Starts a program, waits for its first whole frame, and leaves it."""
    painted: list[FirstFrame] = []

    def look(at: float, data: bytes) -> None:
        if not painted and LAST_LINE in end.output:
            wall_ms = (at - end.spawned_at) * 1000
            painted.append(FirstFrame(wall_ms, _cpu_ms(end.process.pid)))

    with Terminal([sys.executable, *program], setting.variables(), setting.folder, look) as end:
        end.read_until(lambda: bool(painted), APPEARS_WITHIN_S)
        end.type(QUIT)
        end.wait()
    return painted[0]


def _cpu_ms(pid: int) -> float:
    """CPU time of a process' main thread, as Linux counts it in nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6

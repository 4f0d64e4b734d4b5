"""100,000 rollouts on a terminal while 500 events a second come: keys, and memory of the screen."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Iterator
from statistics import median

import pyte

from bench.figure import Figure, NotMeasuredError, percentile
from bench.large_run_app import AHEAD, ROWS
from bench.setting import Setting
from bench.terminal import COLUMNS, LINES, Terminal
from bench.watching import Counts

READY_WITHIN_S = 120.0
SELECTED = re.compile(r"Trajectory · example (\d+ #\d+)")
QUIT = b"\x11"
ANSWERS_WITHIN_S = 5.0


def measure(setting: Setting) -> Iterator[Figure]:
    """Time from a key that selects another rollout until its name stands over its trajectory."""
    dice = random.Random(3)
    counts = Counts(ROWS)
    changes: list[float] = []
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    shown = ""

    def take(at: float, data: bytes) -> None:
        nonlocal shown
        counts.take(at, data)
        stream.feed(data)
        before, shown = shown, _selected(screen)
        if shown != before:
            changes.append(at)

    program = [sys.executable, "-m", "bench.large_run_app"]
    with Terminal(program, setting.variables(), setting.folder, take) as end:
        end.read_until(lambda: counts.newest >= ROWS - AHEAD, READY_WITHIN_S)
        end.type(b"1j")
        end.read_until(lambda: counts.newest > ROWS - AHEAD + 50, READY_WITHIN_S)
        passed = [_answer(end, changes, dice) for _ in range(setting.repeats(300, 100))]
        if counts.newest >= ROWS:
            raise NotMeasuredError("the events came to an end too soon")
        memory = _private_mb(end.process.pid)
        end.type(QUIT)
        end.wait()
    how = f"of {len(passed)}; median {median(passed):.0f}"
    yield Figure("a key to the changed frame, p99", percentile(passed, 0.99), 80, " ms", how)
    yield Figure("private memory of the screen", memory, 250, " MB")


def _selected(screen: pyte.Screen) -> str:
    """The rollout whose trajectory is shown."""
    found = next(filter(None, map(SELECTED.search, screen.display)), None)
    return found[1] if found else ""


def _answer(end: Terminal, changes: list[float], dice: random.Random) -> float:
    """Milliseconds until a key that moves the selection shows."""
    until = time.monotonic() + dice.uniform(0.06, 0.14)
    while (left := until - time.monotonic()) > 0:
        end.read(left)
    changes.clear()
    pressed = time.time()
    end.type(b"j" if dice.random() < 0.7 else b"k")
    end.read_until(lambda: bool(changes), ANSWERS_WITHIN_S)
    return (changes[0] - pressed) * 1000


def _private_mb(pid: int) -> float:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024

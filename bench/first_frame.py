"""Time to the first frame of `tui-eval demo` against that of an empty Textual app."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median

import pyte

from bench.figure import Figure, NotMeasuredError, number, spread
from bench.setting import Setting
from bench.terminal import COLUMNS, LINES, Terminal

EMPTY = ("-m", "bench.empty_app")
DEMO = ("-m", "tui_eval", "demo")
APPEARS_WITHIN_S = 10.0
QUIT = b"\x11"


def measure(setting: Setting) -> Iterator[Figure]:
    """From the start of the process until every line of the terminal is painted."""
    for program in (EMPTY, DEMO):
        _first_frame(setting, program)
    empty, demo = [], []
    for _ in range(setting.repeats(15, 5)):
        empty.append(_first_frame(setting, EMPTY))
        demo.append(_first_frame(setting, DEMO))
    ratio = median(demo) / median(empty)
    note = f"ms: demo {spread(demo)}; empty app {spread(empty)}"
    yield Figure("first frame of the demo / of an empty app", ratio, 1.5, "x", note)
    fastest = min(demo) / min(empty)
    yield Figure("the same by the fastest of each", fastest, None, "x", number(min(demo)) + " ms")


def _first_frame(setting: Setting, program: tuple[str, ...]) -> float:
    """Milliseconds from the start of a program to its first whole frame; then it is left."""
    pieces: list[tuple[float, bytes]] = []
    command = [sys.executable, *program]
    variables = setting.variables()
    with Terminal(command, variables, setting.folder, lambda *piece: pieces.append(piece)) as end:
        end.read_until(lambda: _painted_at(pieces) is not None, APPEARS_WITHIN_S)
        painted = _painted_at(pieces)
        end.type(QUIT)
        end.wait()
        spawned = end.spawned_at
    if painted is None:
        raise NotMeasuredError("no whole frame came")
    return (painted - spawned) * 1000


def _painted_at(pieces: list[tuple[float, bytes]]) -> float | None:
    """When every line of the terminal had a colour of its own for the first time."""
    last_line = f"\x1b[{LINES};1H".encode()
    if not any(last_line in data or b"\r\n" in data for _, data in pieces):
        return None
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    for at, data in pieces:
        stream.feed(_known(data))
        if all(screen.buffer[y][0].bg != "default" for y in range(LINES)):
            return at
    return None


def _known(data: bytes) -> bytes:
    """The output without a key protocol's sequence, which pyte would print."""
    return data.replace(b"\x1b[>25u", b"")

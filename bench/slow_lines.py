"""Slow lines: key to change on the terminal, bytes a second, rest, and the time to leave."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from statistics import median

from bench.driving import command_line
from bench.figure import Figure, percentile
from bench.setting import Setting
from bench.slow_terminal import SlowTerminal

KB = 1000
BUSY = ("demo", "-n", "400", "-r", "16", "-c", "32")
MARK = "▌"
FIRST_LINE = 4
KEYS = 1500
COMES_WITHIN_S = 60.0
KEY_LIMITS_S = {20: 1.0, 100: 0.3}
"""Seconds from a key to its change, by thousands of bytes a second."""
FAST = 2_000 * KB
REST_BYTES, REST_CPU = 0, 0.3


def measure(setting: Setting) -> Iterator[Figure]:
    """A demo with 32 in flight; rollouts that wait; screens at rest; signals."""
    for answers in (False, True):
        for rate, limit in KEY_LIMITS_S.items():
            yield _key_to_change(setting, rate, limit, answers)
            yield from _boxes_and_bursts(setting, rate, limit, answers)
    yield _busy(setting)
    yield _waiting(setting)
    yield from _rest(setting)
    for rate in (20, 1, 0):
        yield _leaving(setting, rate)


@contextlib.contextmanager
def _program(
    setting: Setting, arguments: tuple[str, ...], rate: float, answers: bool = False
) -> Iterator[SlowTerminal]:
    command = [sys.executable, "-m", "tui_eval", *arguments]
    variables = setting.variables()
    with SlowTerminal(command, variables, setting.folder, rate, answers=answers) as on:
        try:
            yield on
        finally:
            if on.process.poll() is None:
                on.bytes_a_second = FAST
                on.process.send_signal(signal.SIGTERM)
                on.seconds_to_end(COMES_WITHIN_S)


def _shows(on: SlowTerminal, text: str) -> Callable[[], bool]:
    return lambda: any(text in line for line in on.lines)


def _start_busy(on: SlowTerminal) -> None:
    on.read_until(lambda: any("▶ 32" in line for line in on.lines[:2]), COMES_WITHIN_S)
    on.read_for(3)


def _marked(on: SlowTerminal) -> list[int]:
    return [at for at, line in enumerate(on.lines) if line[0] == MARK]


def _key_to_change(setting: Setting, rate: int, limit: float, answers: bool) -> Figure:
    """Moves the selection down and up, and times when the mark has moved."""
    taken = []
    with _program(setting, BUSY, FAST, answers) as on:
        _start_busy(on)
        on.type(b"1gj")
        on.bytes_a_second = rate * KB
        on.read_for(5)
        for at in range(setting.repeats(60, 20)):
            before = _marked(on)
            on.type(b"k" if at % 2 else b"j")

            def has_moved(before: list[int] = before) -> bool:
                return (now := _marked(on)) != before and bool(now)

            taken.append(on.seconds_until(has_moved, COMES_WITHIN_S))
            on.read_for(0.13 * (1 + at % 5))
    how = "cursor queries answered" if answers else "no queries answered"
    note = f"of {len(taken)}: median {median(taken):.2f}, longest {max(taken):.2f}"
    what = f"key to change at {rate} kB/s, {how}, p95"
    return Figure(what, percentile(taken, 0.95), limit, " s", note)


def _boxes_and_bursts(setting: Setting, rate: int, limit: float, answers: bool) -> Iterator[Figure]:
    """A box over the whole screen; then a line that stalls, on which somebody types on."""
    how = "answered" if answers else "no answers"
    with _program(setting, BUSY, FAST, answers) as on:
        _start_busy(on)
        on.type(b"1gj")
        on.bytes_a_second = rate * KB
        on.read_for(3)
        on.type(b"?")
        took = on.seconds_until(_shows(on, "esc closes"), COMES_WITHIN_S)
        yield Figure(f"key to a box at {rate} kB/s, {how}", took, limit, " s")
        on.type(b"\x1b")
        on.read_for(3)
        on.bytes_a_second = 0
        on.type(b"j" * KEYS)
        on.read_for(setting.repeats(12, 4))
        on.type(b"k" * (KEYS + 100))
        on.bytes_a_second = rate * KB
        took = on.seconds_until(lambda: _marked(on) == [FIRST_LINE], COMES_WITHIN_S)
        what = f"{2 * KEYS:,} keys after a stall, at {rate} kB/s, {how}"
        yield Figure(what, took, 3, " s")


def _busy(setting: Setting) -> Figure:
    seconds = setting.repeats(20, 8)
    with _program(setting, BUSY, FAST) as on:
        _start_busy(on)
        written = on.read_for(seconds)
    return Figure("32 streaming rollouts write", written / KB / seconds, 25, " kB/s")


def _waiting(setting: Setting) -> Figure:
    seconds = setting.repeats(20, 8)
    options = setting.raw_options(setting.endpoint.url(600_000), 200, 32)
    with _program(setting, ("bench-math", *command_line(options)), FAST) as on:
        _start_busy(on)
        written = on.read_for(seconds)
    return Figure("32 waiting rollouts write", written / KB / seconds, 2, " kB/s")


def _rest(setting: Setting) -> Iterator[Figure]:
    """Home, a run that has ended, and one that is paused."""
    with _program(setting, ("demo", "-n", "12", "-r", "4"), FAST) as on:
        on.read_until(_shows(on, "✓ finished"), COMES_WITHIN_S)
        yield from _resting(setting, on, "a run that has ended")
    with _program(setting, ("home",), FAST) as on:
        on.read_until(_shows(on, "calculator"), COMES_WITHIN_S)
        yield from _resting(setting, on, "home")
    with _program(setting, BUSY, FAST) as on:
        _start_busy(on)
        on.type(b" ")
        on.read_until(_shows(on, "paused"), COMES_WITHIN_S)
        seconds = setting.repeats(20, 8)
        on.read_for(4)
        written = on.read_for(seconds)
        yield Figure("a paused run writes", written / KB / seconds, 2, " kB/s")


def _resting(setting: Setting, on: SlowTerminal, what: str) -> Iterator[Figure]:
    seconds = setting.repeats(30, 10)
    on.read_for(8)
    before = on.cpu_s
    written = on.read_for(seconds)
    share = 100 * (on.cpu_s - before) / seconds
    yield Figure(f"{what}, left alone: bytes in {seconds} s", written, REST_BYTES)
    yield Figure(f"{what}, left alone: share of a core", share, REST_CPU, " %")


def _leaving(setting: Setting, rate: int) -> Figure:
    taken = []
    for _ in range(setting.repeats(3)):
        with _program(setting, BUSY, FAST) as on:
            _start_busy(on)
            on.bytes_a_second = rate * KB
            on.type(b"zz")
            on.read_for(4)
            on.process.send_signal(signal.SIGTERM)
            taken.append(on.seconds_to_end(COMES_WITHIN_S))
    return Figure(f"SIGTERM to the end at {rate} kB/s, longest", max(taken), 2, " s")

"""The screen at 500 rollouts a second: what it costs the engine, how smooth and timely it is."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench.driving import run_headless, steady_rate
from bench.figure import Figure, NotMeasuredError, number, percentile, spread
from bench.setting import Setting
from bench.watching import RunSession, watch

LATENCY_MS = 512
"""256 in flight at this mean latency are 500 a second.

Latencies are drawn, the same ones for every run: constant ones would bring all answers at once.
"""
SHORT, LONG = 5000, 20_000


def measure(setting: Setting) -> Iterator[Figure]:
    """Short runs with and without the screen, interleaved; then a long one with it."""
    with_screen, without = [], []
    watched: list[RunSession] = []
    for _ in range(setting.repeats(3)):
        without.append(steady_rate(run_headless(setting, _fresh_url(setting), SHORT).rows))
        watched.append(_watch(setting, SHORT))
        with_screen.append(steady_rate(watched[-1].rows))
    shares = [100 * seen / bare for seen, bare in zip(with_screen, without, strict=True)]
    yield Figure(
        "throughput with the screen / headless",
        median(shares),
        98,
        " %",
        f"of {len(shares)}: {spread(shares)}; rollouts/s: {number(median(with_screen))} and "
        f"{number(median(without))}",
        at_least=True,
    )
    watched.append(_watch(setting, SHORT if setting.quick else LONG))
    yield from smoothness(watched)
    memory = watched[-1]
    what = f"private memory of the screen, {len(memory.rows):,} rollouts"
    yield Figure(what, memory.memory_mb, 120, " MB")
    yield Figure("CPU of the screen, of one core", 100 * memory.cpu_share, None, " %")


def _fresh_url(setting: Setting) -> str:
    setting.endpoint.restart()
    return setting.endpoint.url(LATENCY_MS, drawn=True)


def _watch(setting: Setting, rollouts: int) -> RunSession:
    seen = watch(setting, setting.raw_options(_fresh_url(setting), rollouts), rollouts)
    if len(seen.rows) != rollouts:
        raise NotMeasuredError(f"{len(seen.rows)} rows of {rollouts}")
    return seen


def smoothness(watched: list[RunSession]) -> Iterator[Figure]:
    """Lag and lateness, the median over the runs; the longest stall of all."""
    lags = [percentile(seen.lags_ms, 0.99) for seen in watched]
    stalls = [max(seen.lags_ms) for seen in watched]
    shown = [percentile(seen.shown_after_ms, 0.99) for seen in watched]
    runs = f"of {len(watched)}: "
    yield Figure("lag of the screen's loop, p99", median(lags), 25, " ms", runs + spread(lags))
    yield Figure(
        "longest stall of the screen's loop", max(stalls), 150, " ms", runs + spread(stalls)
    )
    what = "row finished to count changed on the terminal, p99"
    yield Figure(what, median(shown), 200, " ms", runs + spread(shown))

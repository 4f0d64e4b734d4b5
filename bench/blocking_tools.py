"""An environment that holds everything up for 2 s in every tool call: the screen and the stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.driving import command_line
from bench.environments.bench_math import HOLDS
from bench.figure import Figure, NotMeasuredError, spread
from bench.screen_attached import smoothness
from bench.setting import Setting
from bench.watching import watch

SLOW = '{"tool": "slow"}'
ROLLOUTS = 400
IN_FLIGHT = 4
LATENCY_MS = 100
TOOL_TAKES_MS = 2000
WATCHED_S = 30.0
HELD_WITHIN_S = 20.0
STOPS_WITHIN_S = 2.5
"""The clean stop may take 2 s, and the processes half a second to go."""
ENDS_WITHIN_S = 0.5
"""Called a second time, it waits for nothing."""


def measure(setting: Setting) -> Iterator[Figure]:
    """Watches such runs for a while and leaves them; then stops headless ones by a signal."""
    url = setting.endpoint.url(LATENCY_MS, tool_turns=1, drawn=True)
    options = setting.raw_options(url, ROLLOUTS, IN_FLIGHT, SLOW)
    seen = [watch(setting, options, ROLLOUTS, WATCHED_S) for _ in range(setting.repeats(2))]
    if any(row.total_ms < TOOL_TAKES_MS for one in seen for row in one.rows):
        raise NotMeasuredError("a rollout took less time than its tool")
    yield from smoothness(seen)
    left = [one.left_after_s for one in seen]
    yield Figure(
        "key to leave to the end of the screen", max(left), STOPS_WITHIN_S, " s", spread(left)
    )
    stopped = [_stop_headless(setting, options) for _ in range(setting.repeats(3))]
    yield Figure(
        "SIGTERM to the end of the console and its engine",
        max(stopped),
        STOPS_WITHIN_S,
        " s",
        spread(stopped),
    )
    yield Figure("the same, median", median(stopped), None, " s")
    again = [_stop_headless(setting, options, twice=True) for _ in range(setting.repeats(3))]
    yield Figure(
        "a second SIGTERM to the end of both", max(again), ENDS_WITHIN_S, " s", spread(again)
    )


def _wait_until_held(logs: Path, before: set[Path]) -> None:
    """Waits until a tool of the new run holds the engine's loop, as it says in the run's log."""
    deadline = time.monotonic() + HELD_WITHIN_S
    while time.monotonic() < deadline:
        for log in set(logs.rglob("engine.log")) - before:
            if HOLDS in log.read_text():
                return
        time.sleep(0.02)
    raise NotMeasuredError("no tool held the loop")


def _stop_headless(setting: Setting, options: dict[str, str], twice: bool = False) -> float:
    """Seconds from the last SIGTERM to the end of `tui-eval -d`, which waits for its engine."""
    logs = Path(options["output_dir"])
    before = set(logs.rglob("engine.log"))
    command = [sys.executable, "-m", "tui_eval", "bench-math", "-d", *command_line(options)]
    process = subprocess.Popen(
        command,
        cwd=setting.folder,
        env=setting.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if twice else subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None, "a pipe was requested"
        _wait_until_held(logs, before)
        if process.stderr is not None:
            os.kill(process.pid, signal.SIGTERM)
            next((line for line in process.stderr if "Stopping" in line), None)
        began = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        process.stdout.read()
        code = process.wait(timeout=30)
        took = time.monotonic() - began
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if code != 130:
        raise NotMeasuredError(f"a stopped run ended with {code} instead of 130")
    return took

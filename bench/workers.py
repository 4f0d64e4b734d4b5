"""Workers: how two share the work, many rollouts in flight, plain tools, and a replay."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from bench.counting_endpoint import CountingEndpoint
from bench.driving import command_line, run_bare, run_headless
from bench.figure import Figure, NotMeasuredError, spread
from bench.setting import Setting
from tui_eval.runs.lock import holder

COMPUTED, COMPUTED_MS, COMPUTED_AT_ONCE = 60, 100, 16
IN_FLIGHT, ROLLOUTS, LATENCY_MS = 1024, 20_000, 200
TOOL_ROLLOUTS = 64
REPLAYED_TURNS = 20
WAITS_AT_MOST_S = 60.0


def measure(setting: Setting) -> Iterator[Figure]:
    """One after the other; each as often as its time allows."""
    yield _two_workers(setting)
    yield _many_in_flight(setting)
    yield _plain_tool(setting)
    yield _replay(setting)


def _two_workers(setting: Setting) -> Figure:
    """A reward function that computes: the wall of one worker beside that of two."""
    if (os.cpu_count() or 1) < 2:
        raise NotMeasuredError("two workers need two cores")
    url = setting.endpoint.url()
    args = json.dumps({"scored_in_ms": COMPUTED_MS})

    def wall(workers: int) -> float:
        more = ("-w", str(workers))
        return run_headless(setting, url, COMPUTED, COMPUTED_AT_ONCE, args, more=more).wall

    pairs = [(wall(1), wall(2)) for _ in range(setting.repeats(3))]
    ratios = [one / two for one, two in pairs]
    note = f"{COMPUTED} rollouts of {COMPUTED_MS} ms; s: {spread([one for one, _ in pairs])} and "
    note += spread([two for _, two in pairs])
    what = "wall with one worker / with two, rewards that compute"
    return Figure(what, median(ratios), 1.8, "x", note, at_least=True)


def _many_in_flight(setting: Setting) -> Figure:
    rollouts = ROLLOUTS // 4 if setting.quick else ROLLOUTS
    url = setting.endpoint.url(LATENCY_MS)
    ratios, notes = [], []
    for _ in range(setting.repeats(3)):
        bare = run_bare(setting, "aiohttp", url, rollouts, in_flight=IN_FLIGHT).wall
        ours = run_headless(setting, url, rollouts, IN_FLIGHT, more=("-w", "auto")).wall
        ratios.append(ours / bare)
        notes.append(f"{ours:.1f} and {bare:.1f}")
    what = f"wall of {rollouts:,}, {IN_FLIGHT:,} in flight, -w auto / bare aiohttp"
    return Figure(what, median(ratios), 1.15, "x", f"s: {', '.join(notes)}")


def _plain_tool(setting: Setting) -> Figure:
    """A tool of one second in every rollout, all of them at once."""
    url = setting.endpoint.url(tool_turns=1)
    args = json.dumps({"tool": "waiting"})
    walls = [
        run_headless(setting, url, TOOL_ROLLOUTS, TOOL_ROLLOUTS, args).wall
        for _ in range(setting.repeats(3))
    ]
    what = f"a plain tool of 1 s in {TOOL_ROLLOUTS} rollouts at once"
    return Figure(what, max(walls), 2.5, " s", spread(walls))


def _replay(setting: Setting) -> Figure:
    """A rollout that its engine left after twenty turns: from its start to the next request."""
    took = []
    with CountingEndpoint(0.0) as endpoint:
        for _ in range(setting.repeats(5, 2)):
            took.append(1000 * _replay_once(setting, endpoint))
    what = f"a replay to turn {REPLAYED_TURNS}, environment included"
    return Figure(what, median(took), 50, " ms", spread(took))


def _replay_once(setting: Setting, endpoint: CountingEndpoint) -> float:
    endpoint.begin(REPLAYED_TURNS)
    outputs = setting.new_path("-outputs")
    options = setting.raw_options(endpoint.url, 1, 1, json.dumps({"turns": REPLAYED_TURNS + 1}))
    options["output_dir"] = str(outputs)
    process = _start(setting, "bench-six-turns", "-s", "-d", *command_line(options))
    _wait_until(lambda: endpoint.requests > REPLAYED_TURNS)
    (run,) = outputs.glob("evals/*/*/")
    held = holder(run / "lock")
    if held is None:
        raise NotMeasuredError(f"{run}: no engine has it")
    os.kill(held.pid, signal.SIGKILL)
    process.wait(WAITS_AT_MOST_S)
    endpoint.begin()
    done = _start(setting, "run", "--resume", str(run), "-d").wait(WAITS_AT_MOST_S)
    row = json.loads((run / "results.jsonl").read_text())
    if done or endpoint.requests != 1 or len(row["completion"]) <= 2 * REPLAYED_TURNS:
        raise NotMeasuredError(f"{run}: exit {done}, {endpoint.requests} requests after the replay")
    began: float = row["timing"]["start_time"]
    return endpoint.first_at - began


def _start(setting: Setting, *arguments: str) -> subprocess.Popen[bytes]:
    nowhere: Any = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "tui_eval", *arguments],
        cwd=setting.folder,
        env=setting.variables(),
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
    )


def _wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAITS_AT_MOST_S
    while not done():
        if time.monotonic() > deadline:
            raise NotMeasuredError("nothing happens")
        time.sleep(0.005)

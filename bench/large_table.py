"""An environment over 200,000 rows of a `datasets` table: until it is ready, and the memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from bench.figure import Figure, NotMeasuredError, spread
from bench.setting import Setting

READY_WITHIN_S = 0.5
ROWS = 200_000
SCRIPT = f"""
import json, os, resource, sys, time
from datasets import Dataset
import tui_eval as vf
table = Dataset.from_dict({{
    "question": [f"What is {{n}} + 1?" for n in range({ROWS})],
    "answer": [str(n + 1) for n in range({ROWS})],
    "info": [{{"level": n % 7}} for n in range({ROWS})],
}})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
env = vf.SingleTurnEnv(dataset=table, rubric=vf.Rubric([lambda completion: 1.0]))
rows = env.eval_table()
last = rows[{ROWS} - 1]
took = time.perf_counter() - began
assert last["prompt"][-1]["content"] == "What is {ROWS - 1} + 1?", last
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
print(json.dumps([took, grown / 1024]))
"""


def measure(setting: Setting) -> Iterator[Figure]:
    """Each time in a process of its own, from the table to the last row that a run would take."""
    found = [_measured() for _ in range(setting.repeats(5))]
    seconds = [took for took, _ in found]
    yield Figure(
        "200,000 rows until the environment is ready", median(seconds), READY_WITHIN_S, " s",
        spread(seconds),
    )  # fmt: skip
    yield Figure(
        "memory that it takes beside the table", median(mb for _, mb in found), None, " MB"
    )


def _measured() -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NotMeasuredError(done.stderr[-1000:])
    took, grown = json.loads(done.stdout)
    return float(took), float(grown)

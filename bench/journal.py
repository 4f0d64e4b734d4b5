"""Cost of the journal: a share of a rollout's CPU, and of the engine's loop."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from statistics import median

from bench.driving import run_headless
from bench.figure import Figure, NotMeasuredError, percentile, spread
from bench.setting import ROOT, Setting
from tui_eval.runs.journal import Journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor

ROLLOUTS = 2000
SAMPLER = ROOT / "bench" / "sampler"
FILES = (
    "/runs/journal.py",
    "/runs/journal_records.py",
    "/runs/disk_thread.py",
    "/worker/call_recorder.py",
    "/worker/recorded_calls.py",
    "/worker/request_digests.py",
)
"""Files of the journal: of the engine, and of a worker."""
WRITES, ANSWERS, ANSWER_BYTES = 2000, 32, 8192
"""A write has the answers that come within one turn of the loop."""
SYNCED_EVERY = 50
SECRET = "sk-0123456789abcdef"


def measure(setting: Setting) -> Iterator[Figure]:
    """The share of single turns and of three tool turns, then the loop's time."""
    yield _share(setting, 0)
    yield _share(setting, 3)
    yield _held_loop(setting)


def _share(setting: Setting, tool_turns: int) -> Figure:
    """Samples of a run that are in the journal's code, of all that many rollouts take beyond one.

    A run without a journal is no measure of it: what waits for the disk comes back in batches, so
    that other code takes less with it.
    """
    shares = []
    for _ in range(setting.repeats(5)):
        (few, few_in), (many, many_in) = (
            _samples(setting, tool_turns, rollouts) for rollouts in (1, ROLLOUTS)
        )
        shares.append(100 * (many_in - few_in) / (many - few))
    kind = f"{tool_turns} tool turns" if tool_turns else "single turn"
    return Figure(f"CPU of the journal, {kind}", median(shares), 10, " %", spread(shares))


def _samples(setting: Setting, tool_turns: int, rollouts: int) -> list[int]:
    """Number of samples of a run, and of those in the journal's files."""
    url = setting.endpoint.url(tool_turns=tool_turns)
    args = json.dumps({"tool": "fast"} if tool_turns else {})
    folder = setting.new_path("-samples")
    folder.mkdir()
    variables = {"SAMPLES_FOLDER": str(folder), "SAMPLED_FILES": ":".join(FILES)}
    variables["PYTHONPATH"] = f"{SAMPLER}{os.pathsep}{ROOT}"
    run_headless(setting, url, rollouts, env_args=args, variables=variables)
    found = [memoryview(path.read_bytes()).cast("Q").tolist() for path in folder.iterdir()]
    if len(found) < 2:
        raise NotMeasuredError(f"{len(found)} processes were sampled: engine and worker are two")
    return [sum(counts) for counts in zip(*found, strict=True)]


def _held_loop(setting: Setting) -> Figure:
    """Time of the loop in one write, while a thread flushes what was written."""
    folder = setting.new_path("-run")
    folder.mkdir()
    took = asyncio.run(_writes(Journal(RunDir(folder), Redactor([SECRET]))))
    what = f"loop held by a write of {ANSWERS} answers of {ANSWER_BYTES >> 10} KB, p99"
    return Figure(what, percentile(took, 0.99), 5, " ms", spread(took))


async def _writes(journal: Journal) -> list[float]:
    loop = asyncio.get_running_loop()
    text = "x" * ANSWER_BYTES
    took: list[float] = []
    flushing: list[asyncio.Future[None]] = []
    for turn in range(WRITES):
        began = time.perf_counter()
        for row in range(ANSWERS):
            line = json.dumps({"row": row, "turn": turn, "text": text}).encode() + b"\n"
            written = journal.add_answer(row, line)
        before = time.perf_counter()
        await written
        took.append(1000 * (time.perf_counter() - before))
        if turn % SYNCED_EVERY == 0:
            flushing.append(loop.run_in_executor(None, journal.sync))
        for row in range(ANSWERS):
            journal.forget(row)
        await asyncio.sleep(max(0.0, 0.005 - (time.perf_counter() - began)))
    await asyncio.gather(*flushing)
    journal.close()
    return took

"""What the journal takes: a share of a rollout's CPU, and of the engine's loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from statistics import median

from bench.driving import run_headless
from bench.figure import Figure, number, percentile, spread
from bench.setting import Setting
from tui_eval.runs.journal import Journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor

ROLLOUTS = 2000
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
    """CPU of rollouts with the journal, beside those of an environment that cannot be replayed."""
    url = setting.endpoint.url(tool_turns=tool_turns)

    def cpu(is_kept: bool) -> float:
        tool = {"tool": "fast"} if tool_turns else {}
        args = json.dumps({**tool, "replayable": is_kept})
        few, many = (run_headless(setting, url, n, env_args=args) for n in (1, ROLLOUTS))
        return 1000 * (many.engine_cpu - few.engine_cpu) / (ROLLOUTS - 1)

    pairs = [(cpu(True), cpu(False)) for _ in range(setting.repeats(5))]
    shares = [100 * (1 - without / with_journal) for with_journal, without in pairs]
    kind = f"{tool_turns} tool turns" if tool_turns else "single turn"
    note = f"ms: {', '.join(f'{number(one)} and {number(other)}' for one, other in pairs)}"
    return Figure(f"CPU of the journal, {kind}", median(shares), 10, " %", note)


def _held_loop(setting: Setting) -> Figure:
    """How long the loop is in one writing, while a thread flushes what was written."""
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

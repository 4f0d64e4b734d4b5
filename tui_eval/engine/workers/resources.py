"""The machine's cores and memory that the workers of a run take.

`-w auto`: a run begins with one worker and gets another one whenever a core is full. One worker
runs hundreds of rollouts that wait for a model, and every other one loads the environment and has
its memory again. So another one is started only once one has used a core wholly for most of a
second, and while rollouts wait to begin: those that have begun stay where they are.

`--worker-memory`: a worker that takes more is ended. The system's own limits are of no use here:
they count memory that is only reserved, and their refusals fail in the code of any rollout of the
worker.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from tui_eval.config.values import parse_size
from tui_eval.engine.transport.worker import Verdict, Worker
from tui_eval.engine.workers.pool import Pool
from tui_eval.errors import RefusedError, WorkerEndedError
from tui_eval.processes import busy_seconds, free_memory, private_memory
from tui_eval.worker.end_causes import MEMORY

BUSY_EVERY_S = 0.15
MEMORY_EVERY_S = 0.05
SELDOM_S = 1.0
"""Seconds between two readings where each starts a process."""
WINDOW_S = 0.75
FULL = 0.9
"""Share of a window in which a worker computed or waited for a core. No loop that also waits for
answers comes to much more."""

Figure = TypeVar("Figure")


class ProcessSamples(Generic[Figure]):
    """Samples one figure of processes: often where it is in a file, else seldom.

    Args:
        read: Returns the figure of a process id.
        every_s: Seconds between two readings where the system has it in a file.
    """

    def __init__(self, read: Callable[[int], Figure], every_s: float) -> None:
        self._read = read
        self._has_files = Path("/proc/self/stat").exists()
        self._every_s = every_s if self._has_files else SELDOM_S

    async def next(self) -> None:
        """Waits until it is time for another reading."""
        await asyncio.sleep(self._every_s)

    async def of(self, pid: int) -> Figure:
        """The figure of one process."""
        return self._read(pid) if self._has_files else await asyncio.to_thread(self._read, pid)


async def grow(
    pool: Pool,
    most: int,
    waiting: Callable[[], int],
    warn: Callable[[str], None],
    grown: Callable[[], None],
) -> None:
    """Samples how busy workers are and starts more, up to a number.

    Args:
        waiting: How many rollouts have not begun.
        warn: Gets sentences for people.
        grown: Called after each start.
    """
    seconds = ProcessSamples(busy_seconds, BUSY_EVERY_S)
    samples: defaultdict[Worker, deque[tuple[float, float]]] = defaultdict(deque)
    while len(pool.workers) < most:
        await seconds.next()
        now = asyncio.get_running_loop().time()
        for worker in [*pool.workers]:
            samples[worker].append((now, await seconds.of(worker.pid)))
        for gone in samples.keys() - {*pool.workers}:
            del samples[gone]
        if not any(map(_is_full, samples.values())) or not waiting():
            continue
        if carries(pool.workers[0].pid, 1) < 1:
            warn("A core is full, but there is no memory for another worker")
            return
        try:
            pool.workers.append(await pool.start_another())
        except (RefusedError, WorkerEndedError) as error:
            warn(f"A core is full, and no other worker could be started: {error}")
            return
        samples.clear()  # it takes its share of what begins first
        grown()


def _is_full(samples: deque[tuple[float, float]]) -> bool:
    """Whether a worker used a core wholly for a window's time.

    Args:
        samples: Times of the loop, and busy seconds until then; older ones are dropped.
    """
    until, busy = samples[-1]
    while len(samples) > 2 and until - samples[1][0] >= WINDOW_S:
        samples.popleft()
    since, before = samples[0]
    return until - since >= WINDOW_S * FULL and busy - before >= FULL * (until - since)


def carries(first: int, more: int) -> int:
    """Number of `more` workers that memory carries: each takes about what the first does.

    Args:
        first: Its process id.
    """
    each, free = private_memory(first), free_memory()
    return more if not each or free is None else min(more, free // each)


async def limit_memory(pool: Pool, limit: str) -> None:
    """Samples the memory of workers, and ends those past the limit.

    Args:
        limit: As `parse_size` reads it.
    """
    size, memory = parse_size(limit), ProcessSamples(private_memory, MEMORY_EVERY_S)
    while True:
        await memory.next()
        for worker in [*pool.every]:
            if (await memory.of(worker.pid) or 0) > size and worker.verdict is None:
                worker.kill(Verdict(worker.last_called(), MEMORY, limit))

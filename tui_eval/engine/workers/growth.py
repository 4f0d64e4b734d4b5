"""`-w auto`: a run begins with one worker and gets another one whenever a core is full.

One worker runs hundreds of rollouts that wait for a model, and every other one loads the
environment and has its memory again. So another one is started only once one has used a core
wholly for most of a second, and while rollouts wait to begin: those that have begun stay where they
are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from tui_eval.engine.transport.worker import Worker
from tui_eval.engine.workers.pool import Pool
from tui_eval.engine.workers.process_samples import ProcessSamples
from tui_eval.errors import RefusedError, WorkerEndedError
from tui_eval.processes import busy_seconds, free_memory, private_memory

SAMPLES_EVERY_S = 0.15
WINDOW_S = 0.75
FULL = 0.9
"""Of a window, that a worker computed for or waited for a core in. No loop that also waits for
answers comes to much more."""


class Growth:
    """Samples how busy the workers of a run are, and starts more.

    Args:
        waiting: How many rollouts have not begun.
        warn: Gets sentences for people.
        grown: Called where there is one more.
    """

    def __init__(
        self,
        pool: Pool,
        waiting: Callable[[], int],
        warn: Callable[[str], None],
        grown: Callable[[], None],
    ) -> None:
        self._pool = pool
        self._waiting = waiting
        self._warn = warn
        self._grown = grown
        self._sampling: asyncio.Task[None] | None = None
        self._samples: dict[Worker, deque[tuple[float, float]]] = {}

    def begin(self, most: int) -> None:
        """Samples from now on, until there are so many workers."""
        if most > len(self._pool.workers):
            self._sampling = asyncio.create_task(self._sample(most))

    def end(self) -> None:
        """Starts no more."""
        if self._sampling is not None:
            self._sampling.cancel()

    async def _sample(self, most: int) -> None:
        seconds = ProcessSamples(busy_seconds, SAMPLES_EVERY_S)
        while len(self._pool.workers) < most:
            await seconds.next()
            now = asyncio.get_running_loop().time()
            for worker in [*self._pool.workers]:
                busy = await seconds.of(worker.pid)
                self._samples.setdefault(worker, deque()).append((now, busy))
            for gone in self._samples.keys() - {*self._pool.workers}:
                del self._samples[gone]
            if not any(map(self._is_full, self._pool.workers)) or not self._waiting():
                continue
            if carries(self._pool.workers[0].pid, 1) < 1:
                self._warn("A core is full, but there is no memory for another worker")
                return
            try:
                await self._pool.add()
            except (RefusedError, WorkerEndedError) as error:
                self._warn(f"A core is full, and no other worker could be started: {error}")
                return
            self._samples.clear()  # it takes its share of what begins first
            self._grown()

    def _is_full(self, worker: Worker) -> bool:
        """Whether it used a core wholly for a window's time."""
        samples = self._samples.get(worker)
        if not samples:
            return False
        until, busy = samples[-1]
        while len(samples) > 2 and until - samples[1][0] >= WINDOW_S:
            samples.popleft()
        since, before = samples[0]
        return until - since >= WINDOW_S * FULL and busy - before >= FULL * (until - since)


def carries(first: int, more: int) -> int:
    """How many more workers memory carries, of so many: each takes about what the first does.

    Args:
        first: Its process id.
    """
    each, free = private_memory(first), free_memory()
    return more if not each or free is None else min(more, free // each)

"""What one worker may take: those that take more are ended.

The system's own limits are of no use here: they count what is only reserved, and what they refuse
fails in the code of any rollout of the worker.
"""

from __future__ import annotations

import asyncio

from tui_eval.config.values import parse_size
from tui_eval.engine.transport.verdict import Verdict
from tui_eval.engine.workers.pool import Pool
from tui_eval.engine.workers.process_samples import ProcessSamples
from tui_eval.errors import Fault, RefusedError
from tui_eval.processes import private_memory
from tui_eval.worker.end_causes import MEMORY

SAMPLES_EVERY_S = 0.05


class MemoryLimit:
    """Samples the memory of the workers of a run, and ends those that take more.

    Args:
        limit: As `parse_size` reads it; None for any amount.
    """

    def __init__(self, pool: Pool, env_id: str, limit: str | None) -> None:
        self._pool = pool
        self._env_id = env_id
        self._limit = limit or ""
        self._size = parse_size(limit) if limit else 0
        self._sampling: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Samples from now on.

        Raises:
            RefusedError: A worker takes more before it has begun.
        """
        if not self._size:
            return
        taken = max(private_memory(one.pid) or 0 for one in self._pool.workers)
        if taken > self._size:
            what = f"a worker takes {taken / 1e6:,.0f} MB once it has loaded {self._env_id}"
            raise RefusedError([Fault("--worker-memory", what, "Give it more")])
        self._sampling = asyncio.create_task(self._sample())

    def end(self) -> None:
        """Samples no longer."""
        if self._sampling is not None:
            self._sampling.cancel()

    async def _sample(self) -> None:
        memory = ProcessSamples(private_memory, SAMPLES_EVERY_S)
        while True:
            await memory.next()
            for worker in [*self._pool.every]:
                if (await memory.of(worker.pid) or 0) > self._size and worker.verdict is None:
                    worker.kill(Verdict(worker.last_called(), MEMORY, self._limit))

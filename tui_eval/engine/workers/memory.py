"""What one worker may take: those that take more are ended.

The system's own limits are of no use here: they count what is only reserved, and what they refuse
fails in the code of any rollout of the worker.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tui_eval.config.sizes import parse_size
from tui_eval.engine.transport.verdict import MEMORY, Verdict
from tui_eval.engine.workers.pool import Pool
from tui_eval.errors import Fault, RefusedError
from tui_eval.processes import private_memory

LOOKS_EVERY_S = 0.05
ASKS_EVERY_S = 1.0
"""Where a process is started for it."""


class MemoryLimit:
    """Looks at the memory of the workers of a run.

    Args:
        limit: As `parse_size` reads it; None for any amount.
    """

    def __init__(self, pool: Pool, env_id: str, limit: str | None) -> None:
        self._pool = pool
        self._env_id = env_id
        self._limit = limit or ""
        self._size = parse_size(limit) if limit else 0
        self._looking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Looks from now on.

        Raises:
            RefusedError: A worker takes more before it has begun.
        """
        if not self._size:
            return
        taken = max(private_memory(one.pid) or 0 for one in self._pool.workers)
        if taken > self._size:
            what = f"a worker takes {taken / 1e6:,.0f} MB once it has loaded {self._env_id}"
            raise RefusedError([Fault("--worker-memory", what, "Give it more")])
        self._looking = asyncio.create_task(self._look())

    def end(self) -> None:
        """Looks no longer."""
        if self._looking is not None:
            self._looking.cancel()

    async def _look(self) -> None:
        is_cheap = Path("/proc/self/statm").exists()
        while True:
            await asyncio.sleep(LOOKS_EVERY_S if is_cheap else ASKS_EVERY_S)
            for worker in [*self._pool.every]:
                if is_cheap:
                    taken = private_memory(worker.pid)
                else:
                    taken = await asyncio.to_thread(private_memory, worker.pid)
                if (taken or 0) > self._size and worker.verdict is None:
                    worker.kill(Verdict(worker.last_called(), MEMORY, self._limit))

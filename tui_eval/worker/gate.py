"""The gate before every model call: closed, calls in flight finish and nothing new is sent."""

from __future__ import annotations

import asyncio
import time


class Gate:
    """Open at first."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._closed_s = self._closed_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether model calls may begin."""
        return self._open.is_set()

    @property
    def closed_s(self) -> float:
        """For how many seconds it has been closed so far."""
        return self._closed_s + (0.0 if self.is_open else time.perf_counter() - self._closed_at)

    def open(self) -> None:
        """Lets everyone through who waits."""
        self._closed_s = self.closed_s
        self._open.set()

    def close(self) -> None:
        """Holds the next ones."""
        if self.is_open:
            self._closed_at = time.perf_counter()
            self._open.clear()

    async def wait(self) -> None:
        """Returns once the gate is open."""
        await self._open.wait()

"""The gate before every model call: closed, calls in flight finish and nothing new is sent."""

from __future__ import annotations

import asyncio


class Gate:
    """Open at first."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether model calls may begin."""
        return self._open.is_set()

    def open(self) -> None:
        """Lets everyone through who waits."""
        self._open.set()

    def close(self) -> None:
        """Holds the next ones."""
        self._open.clear()

    async def wait(self) -> None:
        """Returns once the gate is open."""
        await self._open.wait()

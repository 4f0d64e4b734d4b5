"""Figures of processes, read again and again: often where that reads a file, else seldom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

SELDOM_S = 1.0
"""Between two readings where a process is started for each."""

Figure = TypeVar("Figure")


class ProcessSamples(Generic[Figure]):
    """Reads one figure of processes.

    Args:
        read: Gives the figure of a process id.
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

"""The gate before every model call. While it is closed, calls in flight finish and none begins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.worker.rollout_observer import RolloutObserver


class Gate:
    """A gate, open at first."""

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
        """Seconds for which it has been closed so far."""
        return self._closed_s + (0.0 if self.is_open else time.perf_counter() - self._closed_at)

    def open(self) -> None:
        """Lets waiting calls through."""
        self._closed_s = self.closed_s
        self._open.set()

    def close(self) -> None:
        """Holds the next calls."""
        if self.is_open:
            self._closed_at = time.perf_counter()
            self._open.clear()

    async def wait(self) -> None:
        """Returns once the gate is open."""
        await self._open.wait()


class Pauses:
    """The share of a closed gate in the waits of one rollout, which may overlap."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._waits, self._closed_before = 0, 0.0

    @contextmanager
    def left_out(self, observer: RolloutObserver) -> Iterator[None]:
        """Leaves pauses during the block out of the rollout's time."""
        if not self._waits:
            self._closed_before = self._gate.closed_s
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits and observer.state is not None:
                observer.state.began += self._gate.closed_s - self._closed_before

"""`verifiers.utils.async_utils`: semaphores that may be none, retries, the lag of the loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from tui_eval.environments.direct_rollouts import maybe_retry as maybe_retry
from tui_eval.environments.ending import maybe_await as maybe_await

T = TypeVar("T")


async def with_sem(sem: AbstractAsyncContextManager[Any], coro: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine while a semaphore is held; it is closed where it never began."""
    try:
        async with sem:
            return await coro
    finally:
        coro.close()


class NullAsyncContext:
    """A context that holds nothing."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *raised: object) -> bool:
        return False


async def maybe_semaphore(limit: int | None = None) -> AbstractAsyncContextManager[Any]:
    """A semaphore of so many slots; a context that holds nothing for None, 0 and less."""
    return asyncio.Semaphore(limit) if limit and limit > 0 else NullAsyncContext()


class EventLoopLagMonitor:
    """Measures how late the event loop is.

    Args:
        measure_interval: Seconds between two measurements.
        max_measurements: So many are kept, the oldest are dropped.
        logger: Kept as an attribute.

    Attributes:
        lags: Seconds, one a measurement.
    """

    def __init__(
        self,
        measure_interval: float = 0.1,
        max_measurements: int = 100000,
        logger: Any | None = None,
    ) -> None:
        if measure_interval <= 0 or max_measurements <= 0:
            raise AssertionError("measure_interval and max_measurements are above 0")
        self.measure_interval = measure_interval
        self.max_measurements = max_measurements
        self.logger = logger or logging.getLogger(f"{__name__}.{type(self).__name__}")
        self.lags: list[float] = []

    async def measure_lag(self) -> float:
        """Sleeps for one interval; by how many seconds it was woken too late."""
        due = time.perf_counter() + self.measure_interval
        await asyncio.sleep(self.measure_interval)
        return time.perf_counter() - due

    def reset(self) -> None:
        """Forgets what was measured."""
        self.lags = []

    async def run(self) -> None:
        """Measures until it is cancelled."""
        while True:
            self.lags.append(await self.measure_lag())
            del self.lags[: -self.max_measurements]

    def run_in_background(self) -> asyncio.Task[None]:
        """The task that measures."""
        return asyncio.create_task(self.run())

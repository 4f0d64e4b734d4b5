"""`verifiers.utils.async_utils`, `thread_utils` and `heartbeat`: loops, threads, signs of life."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import aiohttp

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


THREAD_LOCAL_STORAGE = threading.local()
"""Holds the values of the calling thread as attributes."""


def get_thread_local_storage() -> threading.local:
    """The store of the calling thread's values."""
    return THREAD_LOCAL_STORAGE


def get_or_create_thread_attr(
    key: str, factory: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """The calling thread's value of a name; what `factory` makes where it has none."""
    value = getattr(THREAD_LOCAL_STORAGE, key, None)
    if value is None:
        value = factory(*args, **kwargs)
        setattr(THREAD_LOCAL_STORAGE, key, value)
    return value


def get_or_create_thread_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the calling thread, the same one at every call."""
    loop: asyncio.AbstractEventLoop = get_or_create_thread_attr("loop", asyncio.new_event_loop)
    asyncio.set_event_loop(loop)
    return loop


logger = logging.getLogger(__name__)
_TIMEOUT = aiohttp.ClientTimeout(total=5)


class Heartbeat:
    """Sends a GET to a URL at each beat; made inside a running loop.

    Args:
        url: Gets the requests, one at a time; a beat during one is left out.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._is_beating = False
        self._session = aiohttp.ClientSession()

    async def beat(self) -> None:
        """Sends one request; what goes wrong is logged and no more."""
        if self._is_beating:
            return
        self._is_beating = True
        try:
            async with self._session.get(self.url, timeout=_TIMEOUT):
                pass
        except Exception as error:
            logger.warning("Heartbeat failed: %s", error)
        finally:
            self._is_beating = False

    async def close(self) -> None:
        """Closes its connections."""
        await self._session.close()

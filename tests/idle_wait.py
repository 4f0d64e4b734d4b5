"""Waits until an app has nothing to do, and no longer.

Textual's own wait sleeps until the process has hardly worked for 20 ms, twice for each key: half of
what the tests of the screen took was such sleep. Here an app is idle once nothing on its loop is
ready, no timer is due within those 20 ms and none of its threads is at work. Where this cannot be
known (sockets and processes on the loop, threads outside its pool) the whole 20 ms are waited for.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import sleep
from time import process_time
from typing import Any

WINDOW_S = 0.02
"""So long Textual looks at what a process does."""
WORKED_S = 0.001
"""Who works longer than this within the window was not at rest."""


class IdleWait:
    """Stands for Textual's `wait_for_idle`; threads that run before it is made are not the app's.

    Args:
        window_s: So long nothing may happen.
    """

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._others = set(threading.enumerate())

    async def wait_for_idle(self, min_sleep: float = 0, max_sleep: float = 1) -> None:
        """Waits until nothing is ready, due or at work, or has not been for a window.

        Args:
            min_sleep: Seconds to wait in any case.
            max_sleep: Seconds after which an app that never rests is taken as it is.
        """
        if min_sleep:
            await sleep(min_sleep)
        loop: Any = asyncio.get_running_loop()
        worked = process_time()
        start = loop.time()
        left = self._window_s
        while loop.time() - start < max_sleep:
            await sleep(0)
            if loop._ready:
                continue
            if process_time() - worked > WORKED_S:
                worked = process_time()
                left = self._window_s
            rest = self._rest(loop, left)
            if rest >= left:
                return
            await sleep(rest)
            left -= rest  # not what went by: a process that gets no turn has not been at rest

    def _rest(self, loop: Any, left: float) -> float:
        """Seconds until it is looked again; all that are left if nothing is to come before."""
        executor = loop._default_executor
        if executor is not None and executor._idle_semaphore._value < len(executor._threads):
            return min(left, 0.002)
        if len(loop._selector.get_map()) > 1 or self._has_threads():
            return min(left, 0.005)
        now = loop.time()
        return min(
            (max(0.0, one._when - now) for one in loop._scheduled if not one._cancelled),
            default=left,
        )

    def _has_threads(self) -> bool:
        return any(
            one not in self._others and not one.name.startswith("asyncio_")
            for one in threading.enumerate()
        )

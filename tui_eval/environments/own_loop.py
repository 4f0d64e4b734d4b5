"""Waiting for a coroutine in code that is not async, also below a loop that runs already."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on a loop of its own and returns its result.

    Where a loop runs in this thread already, as in Jupyter, the new one runs in a thread of its
    own; what interrupts the wait cancels the work, and its end is waited for.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_with_its_end(work))
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T] | None]] = Future()

    async def main() -> T:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await _with_its_end(work)

    with ThreadPoolExecutor(1, "tui-eval loop") as thread:
        done = thread.submit(contextvars.copy_context().run, asyncio.run, main())
        try:
            return done.result()
        except BaseException:
            loop, task = begun.result()
            if not done.done() and task is not None:
                loop.call_soon_threadsafe(task.cancel)
            raise


async def _with_its_end(work: Coroutine[Any, Any, T]) -> T:
    from tui_eval.clients.given_clients import leave_loop

    try:
        return await work
    finally:
        await leave_loop()

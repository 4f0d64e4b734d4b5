"""Waiting for a coroutine in code that is not async, also below a loop that runs already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on a loop of its own, in this thread, and returns its result.

    A loop that runs in this thread already, as in Jupyter, stands still meanwhile. Functions that
    need the main thread have it in either case, where this is called there.
    """
    with _loop_suspended():
        return asyncio.run(_with_its_end(work))


@contextmanager
def _loop_suspended() -> Iterator[None]:
    """Lets another loop run in this thread while one does, whose task waits for it."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        yield
        return
    # Nothing public does it. Tasks belong to loops, but from Python 3.14 on to threads too.
    swap = getattr(asyncio.tasks, "_swap_current_task", None)
    task = swap(loop, None) if swap is not None else None
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
        if swap is not None:
            swap(loop, task)


async def _with_its_end(work: Coroutine[Any, Any, T]) -> T:
    from tui_eval.clients.given_clients import leave_loop

    try:
        return await work
    finally:
        await leave_loop()

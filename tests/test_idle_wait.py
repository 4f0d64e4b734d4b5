"""The wait for an idle app waits for all that is ready, due or at work, and for no more."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from idle_wait import IdleWait

Begin = Callable[[Callable[[], object]], object]

WINDOW_S = 0.5
"""A long one, so that a busy machine makes no difference."""


def chained(done: Callable[[], object]) -> None:
    """Each step makes the next one ready."""

    async def steps() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        done()

    chained.task = asyncio.create_task(steps())  # type: ignore[attr-defined]


def due(done: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(WINDOW_S / 3, done)


def due_after_work(done: Callable[[], object]) -> None:
    """A timer that is due only after the window, which restarts where something worked."""

    def work() -> None:
        ends = time.process_time() + 0.005
        while time.process_time() < ends:
            pass
        due(done)

    asyncio.get_running_loop().call_later(WINDOW_S * 0.8, work)


def due_after_a_stall(done: Callable[[], object]) -> None:
    """A process that gets no turn for a whole window has not been at rest for it."""

    def stall() -> None:
        time.sleep(WINDOW_S)
        due(done)

    asyncio.get_running_loop().call_later(WINDOW_S / 10, stall)


def in_a_thread(done: Callable[[], object]) -> None:
    def work() -> None:
        time.sleep(WINDOW_S / 20)
        loop.call_soon_threadsafe(done)

    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, work)


def in_a_thread_of_its_own(done: Callable[[], object]) -> None:
    def work() -> None:
        time.sleep(WINDOW_S / 20)
        loop.call_soon_threadsafe(done)

    loop = asyncio.get_running_loop()
    threading.Thread(target=work).start()


@pytest.mark.parametrize(
    "begin",
    [chained, due, due_after_work, due_after_a_stall, in_a_thread, in_a_thread_of_its_own],
)
async def test_what_an_app_has_to_do_is_waited_for(begin: Begin) -> None:
    wait = IdleWait(WINDOW_S)
    done = asyncio.Event()
    begin(done.set)
    await wait.wait_for_idle()
    assert done.is_set()


async def test_what_is_due_later_is_not_waited_for() -> None:
    done = asyncio.Event()
    later = asyncio.get_running_loop().call_later(60, done.set)
    await IdleWait().wait_for_idle()
    assert not done.is_set()
    later.cancel()


async def test_an_app_that_never_rests_is_taken_as_it_is() -> None:
    async def restless() -> None:
        while True:
            await asyncio.sleep(0)

    task = asyncio.create_task(restless())
    await IdleWait().wait_for_idle(max_sleep=0.1)
    assert not task.done()
    task.cancel()

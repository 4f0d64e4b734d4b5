"""Plain functions in threads: none of them stops the others."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tui_eval.plain_calls import functions, threads
from tui_eval.plain_calls.functions import attempt, plain_function, thread_safe

PATIENCE_S = 30.0


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """An event for functions that hang until the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.002)


def known(func: Callable[..., Any]) -> functions.PlainFunction:
    found = plain_function(func, getattr(func, "__name__", "it"))
    assert found is not None
    return found


async def value(func: Callable[[], Any]) -> Any:
    outcome = await attempt(known(func), func)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


async def warmed_up(func: Callable[[], Any]) -> None:
    await value(func)
    await value(func)


async def quick_until_now(release: threading.Event) -> tuple[Callable[[], None], list[int]]:
    """A function that was quick, and hangs from now on; what gets an entry for each call in it."""
    hangs, inside = threading.Event(), list[int]()

    def quick() -> None:
        if hangs.is_set():
            inside.append(1)
            release.wait(PATIENCE_S)

    await warmed_up(quick)
    hangs.set()
    return quick, inside


async def test_the_first_call_is_alone_and_the_others_begin_when_it_has_ended(
    release: threading.Event,
) -> None:
    began = []

    def prepares() -> None:
        began.append(threading.get_ident())
        if len(began) == 1:
            release.wait(PATIENCE_S)

    calls = [asyncio.create_task(value(prepares)) for _ in range(4)]
    await until(lambda: bool(began))
    for _ in range(20):
        await asyncio.sleep(0.002)
    assert len(began) == 1
    release.set()
    await asyncio.gather(*calls)
    assert len(began) == 4


async def test_a_first_call_that_hangs_is_waited_for_only_so_long(
    release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "FIRST_CALL_S", 0.05)
    began = []

    def hangs_first() -> int:
        began.append(1)
        if len(began) == 1:
            release.wait(PATIENCE_S)
        return len(began)

    hanging = asyncio.create_task(value(hangs_first))
    await until(lambda: bool(began))
    assert sorted(await asyncio.gather(*(value(hangs_first) for _ in range(3)))) != []
    assert not hanging.done()
    release.set()
    await hanging


async def test_a_first_call_that_is_cancelled_lets_the_others_continue(
    release: threading.Event,
) -> None:
    began = threading.Event()

    def hangs() -> str:
        if not began.is_set():
            began.set()
            release.wait(PATIENCE_S)
        return "done"

    first = asyncio.create_task(value(hangs))
    await until(began.is_set)
    second = asyncio.create_task(value(hangs))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "done"


async def test_what_was_always_quick_and_hangs_once_stops_nobody(
    release: threading.Event,
) -> None:
    hangs = threading.Event()
    inside = threading.Event()

    def quick() -> str:
        if hangs.is_set() and not inside.is_set():
            inside.set()
            release.wait(PATIENCE_S)
        return "quick"

    def other() -> str:
        return "other"

    for func in (quick, other):
        for _ in range(20):
            await value(func)
    assert known(quick).is_quick
    hangs.set()
    hanging = asyncio.create_task(value(quick))
    await until(inside.is_set)
    async with asyncio.timeout(PATIENCE_S):
        got = await asyncio.gather(*(value(func) for func in (quick, other) * 50))
    assert got == ["quick", "other"] * 50
    assert not hanging.done()
    release.set()
    assert await hanging == "quick"


async def test_a_quick_one_that_nobody_waits_for_any_more_is_not_called() -> None:
    made: list[str] = []

    def quick(name: str = "warm") -> None:
        made.append(name)

    await warmed_up(quick)
    made.clear()
    calls = [
        asyncio.create_task(attempt(known(quick), functools.partial(quick, name)))
        for name in ("cancelled", "kept")
    ]
    await asyncio.sleep(0)
    calls[0].cancel()
    await calls[1]
    assert calls[0].cancelled()
    assert made == ["kept"]


async def test_the_loop_waits_for_nothing_quick_while_one_that_was_hangs(
    release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, inside = await quick_until_now(release)
    calls = [asyncio.create_task(value(quick))]
    await until(lambda: len(inside) == 1)
    known(quick).is_quick = True  # others may have been, meanwhile
    monkeypatch.setattr(threads, "HANDED_OVER_S", PATIENCE_S)
    began = time.monotonic()
    calls.append(asyncio.create_task(value(quick)))
    await until(lambda: len(inside) == 2)
    assert time.monotonic() - began < PATIENCE_S
    release.set()
    await asyncio.gather(*calls)


async def test_quick_ones_that_get_no_thread_fail_and_leave_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def quick() -> str:
        return "quick"

    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = threads.Threads()
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    calls = [asyncio.create_task(pool.attempt(quick, 0.05, is_quick=True)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    calls[0].cancel()
    failed = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(failed[1], RuntimeError)
    monkeypatch.undo()
    await asyncio.sleep(0.06)  # past the limit of either
    assert pool.is_free()
    assert (await pool.attempt(quick, is_quick=True)).value == "quick"


async def test_the_warning_of_a_quick_one_comes_in_the_context_of_its_own_caller(
    release: threading.Event,
) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    said: list[str] = []

    class Asking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(who.get())

    async def call(name: str, func: Callable[[], Any]) -> None:
        who.set(name)
        await pool.attempt(func, 0.05, is_quick=True)

    def hangs() -> None:
        release.wait(PATIENCE_S)

    pool, handler = threads.Threads(), Asking()
    logger = logging.getLogger("tui_eval.plain_calls")
    logger.addHandler(handler)
    try:
        await asyncio.gather(call("first", lambda: None), call("second", hangs))
    finally:
        logger.removeHandler(handler)
    assert said == ["second"]


async def test_all_that_were_quick_may_hang_at_once(release: threading.Event) -> None:
    quick, inside = await quick_until_now(release)
    calls = [asyncio.create_task(value(quick)) for _ in range(20)]
    await until(lambda: len(inside) == 20)
    release.set()
    await asyncio.gather(*calls)


async def test_more_than_the_usual_number_run_where_they_only_wait(
    release: threading.Event,
) -> None:
    inside = []

    def waits() -> None:
        inside.append(1)
        if len(inside) > 1:
            release.wait(PATIENCE_S)

    await value(waits)
    calls = [asyncio.create_task(value(waits)) for _ in range(3 * threads.MOST_AT_ONCE)]
    await until(lambda: len(inside) == 1 + 3 * threads.MOST_AT_ONCE)
    release.set()
    await asyncio.gather(*calls)


async def test_those_declared_not_thread_safe_run_one_at_a_time_in_one_thread() -> None:
    inside: list[str] = []
    seen: list[tuple[int, str]] = []

    def work(name: str) -> None:
        inside.append(name)
        time.sleep(0.005)
        seen.append((threading.get_ident(), "alone" if len(inside) == 1 else "beside others"))
        inside.remove(name)

    @thread_safe(False)
    def one() -> None:
        work("one")

    @thread_safe(False)
    def other() -> None:
        work("other")

    await asyncio.gather(*(value(func) for func in (one, other) * 5))
    assert len(seen) == 10
    assert len(set(seen)) == 1
    assert seen[0][1] == "alone"
    assert seen[0][0] != threading.get_ident()


async def test_a_cancelled_call_is_requested_to_stop_although_it_catches_everything_else() -> None:
    inside, left = threading.Event(), threading.Event()

    def careless() -> None:
        inside.set()
        try:
            while True:
                try:
                    time.sleep(0.002)
                except Exception:
                    continue
        finally:
            left.set()

    call = asyncio.create_task(value(careless))
    await until(inside.is_set)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(left.is_set)


async def test_a_connection_of_the_main_thread_is_used_there() -> None:
    database = sqlite3.connect(":memory:")

    def count() -> int:
        return int(database.execute("select 7").fetchone()[0])

    assert await asyncio.gather(*(value(count) for _ in range(5))) == [7] * 5
    assert known(count).on_loop


async def test_a_connection_that_the_first_call_makes_is_used_in_its_thread() -> None:
    made: list[sqlite3.Connection] = []

    def count() -> int:
        if not made:
            made.append(sqlite3.connect(":memory:"))
        return int(made[0].execute("select 7").fetchone()[0])

    await value(count)
    for _ in range(3):
        assert await asyncio.gather(*(value(count) for _ in range(5))) == [7] * 5
    assert not known(count).on_loop
    assert not known(count).thread_safe


async def test_context_variables_flow_in_and_stay_apart() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    def look(name: str) -> tuple[str, str]:
        before = who.get()
        who.set("thread")
        return name, before

    async def rollout(name: str) -> tuple[str, str]:
        who.set(name)
        call = functools.partial(look, name)
        outcome = await attempt(known(look), call)
        assert who.get() == name
        return outcome.value  # type: ignore[no-any-return]

    names = [f"rollout {number}" for number in range(30)]
    got = await asyncio.gather(*(asyncio.create_task(rollout(name)) for name in names))
    assert got == [(name, name) for name in names]

"""How many rollouts are in flight, and what a sleeping one does to the others."""

from __future__ import annotations

import asyncio

import pytest

from tui_eval.engine.limits.slots import Slots, lent


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_never_more_than_the_limit_and_all_come_through() -> None:
    slots, most, done = Slots(3), 0, 0

    async def work() -> None:
        nonlocal most, done
        await slots.acquire()
        most = max(most, slots.used)
        await asyncio.sleep(0)
        slots.release()
        done += 1

    await asyncio.gather(*(work() for _ in range(50)))
    assert (most, done, slots.used) == (3, 50, 0)


@pytest.mark.parametrize("limit", [0, -1])
async def test_no_limit(limit: int) -> None:
    slots = Slots(limit)
    for _ in range(1000):
        await slots.acquire()
    assert slots.used == 1000


async def test_a_sleeper_lends_its_slot_and_comes_back_before_those_who_begin() -> None:
    slots, order = Slots(1), []
    wake = asyncio.Event()

    async def sleeper() -> None:
        await slots.acquire()
        async with lent([slots]):
            await wake.wait()
        order.append("sleeper")
        slots.release()

    async def beginner(name: str) -> None:
        await slots.acquire()
        order.append(name)
        await settle()
        slots.release()

    sleeping = asyncio.create_task(sleeper())
    await settle()
    assert slots.used == 0
    others = [asyncio.create_task(beginner(name)) for name in ("a", "b")]
    await asyncio.sleep(0)
    wake.set()
    await asyncio.gather(sleeping, *others)
    assert order == ["a", "sleeper", "b"]
    assert slots.used == slots.sleeping == 0


@pytest.mark.parametrize(("limit", "asleep"), [(1, 2), (2, 2), (3, 3)])
async def test_nothing_new_begins_while_as_many_sleep_as_may_be_in_flight(
    limit: int, asleep: int
) -> None:
    slots = Slots(limit)
    for _ in range(asleep):
        beginning = asyncio.create_task(slots.acquire())
        await settle()
        assert beginning.done()
        slots.lend()
    held = asyncio.create_task(slots.acquire())
    await settle()
    assert not held.done()
    slots.wake()
    await settle()
    assert not held.done()
    slots.rise()
    slots.wake()
    await held


async def test_a_sleeper_that_is_cancelled_leaves_the_count_right() -> None:
    slots = Slots(2)

    async def sleeper() -> None:
        await slots.acquire()
        try:
            async with lent([slots]):
                await asyncio.sleep(1000)
        finally:
            slots.release()

    tasks = [asyncio.create_task(sleeper()) for _ in range(2)]
    await settle()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert slots.used == slots.sleeping == 0


async def test_a_waiter_that_is_cancelled_passes_its_turn_on() -> None:
    slots = Slots(1)
    await slots.acquire()
    first, second = (asyncio.create_task(slots.acquire()) for _ in range(2))
    await settle()
    slots.release()
    first.cancel()
    await second
    assert slots.used == 1


async def test_who_begins_and_is_cancelled_as_a_slot_comes_free_is_only_cancelled() -> None:
    slots = Slots(1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    await settle()
    waiting.cancel()
    slots.release()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.used == 0


async def test_one_that_wakes_makes_room_for_one_that_begins() -> None:
    slots = Slots(2)
    wake = [asyncio.Event(), asyncio.Event()]

    async def sleeper(event: asyncio.Event) -> None:
        await slots.acquire()
        async with lent([slots]):
            await event.wait()
        await asyncio.sleep(3600)

    sleeping = [asyncio.create_task(sleeper(event)) for event in wake]
    await settle()
    beginning = asyncio.create_task(slots.acquire())
    await settle()
    assert not beginning.done()
    wake[0].set()
    await settle()
    assert beginning.done()
    for task in sleeping:
        task.cancel()

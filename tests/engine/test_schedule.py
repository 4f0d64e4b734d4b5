"""Which rollouts begin, and when a run waits for no more of them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from tui_eval.engine.execution.schedule import Schedule
from tui_eval.engine.limits.limits import Held
from tui_eval.engine.limits.slots import Slots


async def guarded(work: Coroutine[Any, Any, None]) -> None:
    await work


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def beginner(
    schedule: Schedule, begun: list[int], work: Callable[[int], Coroutine[Any, Any, None]]
) -> Callable[[], Coroutine[Any, Any, bool]]:
    async def begin() -> bool:
        row = schedule.todo.popleft()
        begun.append(row)
        schedule.start(work(row), Held())
        return True

    return begin


def schedule_of(rows: Iterable[int]) -> tuple[Schedule, list[int], dict[int, asyncio.Event]]:
    """A schedule, the rollouts that began, and what ends each of them."""
    return Schedule(rows, guarded), [], {row: asyncio.Event() for row in range(10)}


async def test_rollouts_that_are_put_first_begin_at_once_in_their_order() -> None:
    schedule, begun, ends = schedule_of([5])

    async def work(row: int) -> None:
        await ends[row].wait()

    running = asyncio.create_task(schedule.work_off(beginner(schedule, begun, work), lambda: None))
    await settle()
    schedule.todo.append(6)
    schedule.put_first([1, 2])
    await settle()
    assert begun == [5, 1, 2, 6]
    for row in (1, 2, 5, 6):
        assert not running.done()
        ends[row].set()
        await settle()
    assert running.done()


async def test_only_a_rollout_that_waits_is_dropped() -> None:
    schedule, _, _ = schedule_of([1, 2])
    assert [schedule.drop(row) for row in (1, 1, 3)] == [True, False, False]
    assert list(schedule.todo) == [2]


async def test_slots_come_back_from_a_task_that_is_cancelled() -> None:
    schedule, _, ends = schedule_of([])
    slots, held = Slots(1), Held()
    await held.take(slots)

    async def work() -> None:
        await ends[0].wait()

    schedule.start(work(), held)
    await settle()
    assert slots.used == 1
    await schedule.give_up(60)
    await settle()
    assert (slots.used, schedule.tasks) == (0, set())


async def test_nobody_waits_for_tasks_that_are_parked() -> None:
    schedule, begun, ends = schedule_of([0, 1, 2])
    parked, calls = 0, 0

    async def work(row: int) -> None:
        await ends[row].wait()

    def all_begun() -> None:
        nonlocal calls
        calls += 1

    schedule.parked = lambda: parked
    running = asyncio.create_task(schedule.work_off(beginner(schedule, begun, work), all_begun))
    await settle()
    assert (begun, calls) == ([0, 1, 2], 1)
    parked = 1
    schedule.more_are_parked()
    await settle()
    assert (running.done(), calls) == (False, 2)
    ends[0].set()
    await settle()
    assert not running.done()
    ends[1].set()
    await settle()
    assert running.done()
    await schedule.give_up(60)
    assert not schedule.tasks


async def test_nothing_begins_once_nothing_may() -> None:
    schedule, _, _ = schedule_of([1, 2, 3])
    calls = 0

    async def begin() -> bool:
        nonlocal calls
        calls += 1
        return False

    await schedule.work_off(begin, lambda: None)
    assert (calls, list(schedule.todo)) == (1, [1, 2, 3])


async def test_work_that_is_given_up_before_its_first_step_is_closed() -> None:
    schedule, _, _ = schedule_of([])

    async def never() -> None:
        await asyncio.Event().wait()

    work = never()
    schedule.start(work, Held())
    await schedule.give_up(1.0)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED

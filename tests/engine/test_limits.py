"""The limits of a run hold together, and rollouts that sleep never wait for each other for ever."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tui_eval.deadline import Deadline
from tui_eval.engine.limits.adaptive import Concurrency
from tui_eval.engine.limits.limits import Held, Limits, Phases, PhaseSlots, Shared
from tui_eval.events import ConcurrencyMoved


@pytest.mark.parametrize("seed", range(20))
async def test_all_come_through_and_no_limit_is_passed(seed: int) -> None:
    draw = random.Random(seed)
    most_of = {name: draw.randint(1, 4) for name in ("flight", "generation", "scoring", "0", "1")}
    own = draw.choice([(), ("generation", "scoring")])
    for name in ("flight", "generation", "scoring"):
        most_of[name] = most_of[name] if name in own or (name == "flight" and not own) else 60
    phases = Phases(most_of["flight"], *(most_of[name] for name in own))
    limits = Limits(phases, [most_of["0"], most_of["1"]])
    now: Counter[str] = Counter()
    done = 0

    def move(by: int, **counts: int) -> None:
        for name, count in counts.items():
            now[name] += by * count
            assert 0 <= now[name] <= most_of[name], name

    async def work(held: Held, **counts: int) -> None:
        for _ in range(draw.randint(0, 3)):
            move(1, **counts)
            await asyncio.sleep(0)
            move(-1, **counts)
            if draw.random() < 0.5:
                async with held.lent():
                    await asyncio.sleep(0.001 * draw.randint(0, 3))

    async def one(held: Held, place: int) -> None:
        nonlocal done
        await work(held, flight=1, generation=1, **{str(place): 1})
        limits.generated(held)
        count = draw.randint(1, 3)
        async with limits.scoring(held, count):
            await work(held, flight=1, scoring=min(count, most_of["scoring"]))
        held.release()
        done += 1

    async with asyncio.timeout(20):
        tasks = []
        for _ in range(60):
            held, place = await limits.begin(draw.choice([[0, 1], [1, 0], [0], [1]]))
            tasks.append(asyncio.create_task(one(held, place)))
        await asyncio.gather(*tasks)
        held, _ = await limits.begin([0])
    assert done == 60


@pytest.mark.parametrize("seed", range(20))
async def test_evaluations_that_share_limits_come_through_and_leave_nothing_taken(
    seed: int,
) -> None:
    draw = random.Random(seed)
    common = {name: draw.randint(1, 4) for name in ("flight", "generation", "scoring", "endpoint")}
    slots = PhaseSlots(Phases(0, common["generation"], common["scoring"]))
    slots.in_flight.move(common["flight"])
    shared = Shared(
        slots,
        [Concurrency(common["endpoint"], (common["flight"], common["generation"]), adapts=False)],
    )
    now: Counter[str] = Counter()
    done = 0

    @contextmanager
    def counted(**counts: int) -> Iterator[None]:
        now.update(counts)
        try:
            assert all(now[name] <= most for name, most in common.items())
            yield
        finally:
            now.subtract(counts)

    async def one(limits: Limits, held: Held) -> None:
        nonlocal done
        try:
            for _ in range(draw.randint(0, 2)):
                with counted(flight=1, generation=1, endpoint=1):
                    await asyncio.sleep(0)
                async with held.lent():
                    await asyncio.sleep(0.001 * draw.randint(0, 2))
            limits.generated(held)
            count = draw.randint(1, 3)
            async with limits.scoring(held, count):
                with counted(flight=1, scoring=min(count, common["scoring"])):
                    await asyncio.sleep(0)
            done += 1
        finally:
            held.release()

    async def evaluation() -> None:
        limits = Limits(Phases(*(draw.randint(0, 3) for _ in range(3))), [], shared)
        tasks = []
        try:
            for _ in range(15):
                held, _ = await limits.begin([0])
                tasks.append(asyncio.create_task(one(limits, held)))
                tasks[-1].add_done_callback(lambda _, held=held: held.release())
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async with asyncio.timeout(20):
        every = [asyncio.create_task(evaluation()) for _ in range(4)]
        await asyncio.sleep(0.005)
        every[3].cancel()
        await asyncio.gather(*every, return_exceptions=True)
        await asyncio.sleep(0.02)
    assert done >= 45
    for one in (slots.in_flight, slots.generation, shared.endpoints[0].slots):
        assert (one.used, one.sleeping) == (0, 0)


async def test_evaluations_of_one_endpoint_count_each_what_they_were_refused() -> None:
    endpoint = Concurrency(0, adapts=True)
    shared = Shared(PhaseSlots(Phases(0)), [endpoint])
    moves: dict[str, list[ConcurrencyMoved]] = {"a": [], "b": []}
    limits = {name: Limits(Phases(0), [], shared, publish=moves[name].append) for name in moves}
    for name in ("a", "b", "a"):
        held, _ = await limits[name].begin([0])
        held.refuse(0.0, 0.0)
        held.release()
    for one in limits.values():
        one.publish_last()
    assert {name: events[-1].refused for name, events in moves.items()} == {"a": 2, "b": 1}


async def test_what_sleeps_at_the_same_time_gives_its_slots_back_once() -> None:
    limits = Limits(Phases(1), [0])
    held, _ = await limits.begin([0])
    wakes = asyncio.Event()

    async def sleeps() -> None:
        async with held.lent():
            await wakes.wait()

    sleepers = asyncio.gather(sleeps(), sleeps(), sleeps())
    await asyncio.sleep(0)
    beginning, later = (asyncio.create_task(limits.begin([0])) for _ in range(2))
    await asyncio.sleep(0)
    assert (beginning.done(), later.done()) == (True, False)
    wakes.set()
    await asyncio.sleep(0)
    beginning.result()[0].release()
    await sleepers
    assert not later.done(), "who slept comes back first"
    held.release()
    await later


async def test_a_group_that_is_cancelled_while_it_takes_its_slots_keeps_none() -> None:
    limits = Limits(Phases(2, scoring=2), [0])
    one, group = [(await limits.begin([0]))[0] for _ in range(2)]

    async def score_group() -> None:
        async with limits.scoring(group, 2):
            raise AssertionError("one of its slots is taken")

    async with limits.scoring(one, 1):
        scoring = asyncio.create_task(score_group())
        await asyncio.sleep(0)
        scoring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scoring
        async with asyncio.timeout(20), limits.scoring(one, 1):
            pass


async def test_what_was_parked_and_is_cancelled_gives_nothing_back_that_it_does_not_have() -> None:
    limits = Limits(Phases(1), [0])
    parked, _ = await limits.begin([0])
    parked.release()
    limits.generated(parked)
    parked.release()
    await limits.begin_scoring()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(limits.begin_scoring(), 0.05)


async def test_time_that_is_held_is_not_counted() -> None:
    with Deadline(0.2) as deadline:
        with deadline.held():
            await asyncio.sleep(0.4)
        assert not deadline.expired
        await asyncio.sleep(5)
    assert deadline.expired


async def test_a_cancellation_from_outside_is_no_timeout() -> None:
    async def work() -> None:
        with Deadline(5):
            await asyncio.sleep(5)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("phases", "bounds"),
    [
        (Phases(4), (4, 0, 0)),
        (Phases(4, generation=16), (0, 16, 4)),
        (Phases(4, scoring=16), (0, 4, 16)),
        (Phases(4, 12, 16), (0, 12, 16)),
        (Phases(0, scoring=3), (0, 0, 3)),
    ],
)
def test_a_limit_of_a_phase_replaces_that_for_all(
    phases: Phases, bounds: tuple[int, int, int]
) -> None:
    assert phases.bounds() == bounds


async def test_a_moved_limit_moves_the_phases_without_one_of_their_own() -> None:
    limits = Limits(Phases(1, scoring=2), [0])
    held, _ = await limits.begin([0])
    beginning = asyncio.create_task(limits.begin([0]))
    await asyncio.sleep(0)
    assert not beginning.done()
    limits.move(2)
    other, _ = await beginning
    for one in (held, other):
        limits.generated(one)
    async with limits.scoring(held, 1), limits.scoring(other, 1):
        third = asyncio.create_task(limits.begin([0]))
        await asyncio.sleep(0)
        assert third.done()  # what is scored keeps nothing that is generated away


@pytest.mark.parametrize("phases", [Phases(2), Phases(2, scoring=2)])
async def test_a_limit_that_is_moved_to_one_lets_them_begin_one_by_one(phases: Phases) -> None:
    limits = Limits(phases, [0])
    limits.move(1)
    held, _ = await limits.begin([0])
    beginning = asyncio.create_task(limits.begin([0]))
    await asyncio.sleep(0)
    assert not beginning.done()
    held.release()
    await beginning

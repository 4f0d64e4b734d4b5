"""Messages that cross between an engine and a worker: grants, withdrawals, cancellations."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import scheduling
from tui_eval.engine.execution.schedule import Schedule
from tui_eval.engine.limits.budget import Budget, CallGuard
from tui_eval.engine.limits.limits import Held, Limits, Phases
from tui_eval.engine.workers.lease import Lease
from tui_eval.engine.workers.reports import Reports
from tui_eval.engine.workers.worker_rollouts import WorkerRollouts
from tui_eval.worker.engine_ports import EngineGuard, EngineHub, EnginePort
from tui_eval.worker.examples import Places
from tui_eval.worker.to_engine import Ended, Release, Request, Row, Withdraw
from tui_eval.worker.to_worker import Granted


async def test_a_call_that_is_cancelled_as_it_is_let_through_gives_back_what_it_reserved() -> None:
    sent: list[Any] = []
    engine = EnginePort(sent.append)
    hub = EngineHub(engine, cast(Any, SimpleNamespace(code_runs=None)))
    guard = EngineGuard(engine, hub, 7, lambda args: 50)
    call = asyncio.create_task(guard.wait(50, hub, lambda: None))
    await asyncio.sleep(0)
    assert sent == [Request(1, 7, "budget", 50)]
    engine.granted(1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert sent[1:] == [Release(7, "budget", 50)]


async def test_what_was_granted_before_its_withdrawal_came_is_given_back() -> None:
    budget = Budget(None, 100, lambda: (0, None))
    guard = CallGuard(
        [budget], None, 0,
        exhausted=pytest.fail, parked_more=lambda: None, warn=pytest.fail,
    )  # fmt: skip
    parts: Any = SimpleNamespace(guard=guard, limits=None)
    reports = Reports(parts, *[cast(Any, pytest.fail)] * 3)
    lease = Lease(7, Held(), 0.0, asyncio.get_running_loop().create_future())
    reports.leases = {7: lease}
    sent: list[Any] = []
    worker: Any = SimpleNamespace(rows={7}, send=sent.append)
    reports.take(worker, Request(1, 7, "budget", 60))
    reports.take(worker, Request(2, 7, "budget", 60))
    while not sent:
        await asyncio.sleep(0)
    assert sent == [Granted(1)]
    reports.take(worker, Withdraw(1, 7))
    for _ in range(5):
        await asyncio.sleep(0)
    assert sent == [Granted(1), Granted(2)]
    reports.take(worker, Release(7, "budget", 60))
    assert budget.in_flight == 0


@dataclass
class Simulated:
    """A run of one rollout, whose workers are simulated."""

    limits: Limits
    schedule: Schedule
    hub: Any
    rollouts: WorkerRollouts
    workers: list[scheduling.SimulatedWorker]

    async def begin(self) -> scheduling.SimulatedWorker:
        held, _ = await self.limits.begin([0])
        self.schedule.start(self.rollouts.run(0, None, held), held)
        return next(one for one in self.workers if one.rows)

    async def end(self) -> None:
        async with asyncio.timeout(20):
            await self.schedule.work_off(cast(Any, None), lambda: None)


@pytest.fixture
async def simulated() -> AsyncIterator[Simulated]:
    limits, schedule = Limits(Phases(2, 0, 0), [0]), Schedule([], lambda work: work)
    parts = scheduling.parts_of(Places(1, lambda: cast(Any, range(1)), 1), schedule, limits, [])
    workers: list[scheduling.SimulatedWorker] = []

    async def launch() -> Any:
        workers.append(scheduling.SimulatedWorker(random.Random(1)))
        return workers[-1]

    rollouts = WorkerRollouts(parts, [], shares_scoring=False, launch=launch)
    await rollouts.open(None)
    yield Simulated(limits, schedule, parts.hub, rollouts, workers)
    await rollouts.close()


@pytest.mark.slow
async def test_a_rollout_can_be_cancelled_from_the_moment_that_it_has_left_the_queue(
    simulated: Simulated,
) -> None:
    work = simulated.rollouts.run(0, None, Held())
    assert 0 in simulated.hub.active
    work.cancel()


async def test_nothing_is_kept_of_a_rollout_whose_worker_ended_right_after_its_row(
    simulated: Simulated,
) -> None:
    worker = await simulated.begin()
    worker.received(worker, Row(0, 0, b""))
    worker.end()
    await simulated.end()
    assert simulated.rollouts._assigned.leases == {}


async def test_what_is_run_again_waits_for_the_worker_that_is_not_done_with_it(
    simulated: Simulated,
) -> None:
    worker = await simulated.begin()
    worker.received(worker, Row(0, 0, b""))
    held, _ = await simulated.limits.begin([0])
    simulated.schedule.start(simulated.rollouts.run(0, None, held), held)
    await asyncio.sleep(0)
    assert not any(one.rows for one in simulated.workers)
    worker.received(worker, Ended(0, ""))
    while not (those := [one for one in simulated.workers if one.rows]):
        await asyncio.sleep(0)
    for message in (Row(0, 0, b""), Ended(0, "")):
        those[0].received(those[0], message)
    await simulated.end()
    assert not simulated.hub.active

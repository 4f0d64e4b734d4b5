"""Cost of a decision of the scheduler, and of a waiting rollout: a thousand and a million rollouts.

The schedule, the limits and the leases are those of a run. Workers and their time are simulated:
some rollouts take twenty times as long as others, and some end their worker.
"""

from __future__ import annotations

import asyncio
import random
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from bench.figure import Figure, NotMeasuredError, number, spread
from bench.setting import Setting
from bench.virtual_time import run_in_virtual_time
from tui_eval.config.plan import RunPlan
from tui_eval.engine.execution.schedule import Schedule
from tui_eval.engine.limits.limits import Limits, Phases
from tui_eval.engine.transport.worker import Worker
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.worker_rollouts import WorkerRollouts
from tui_eval.worker import to_engine, to_worker
from tui_eval.worker.examples import Places
from tui_eval.worker.vital_signs import NOBODY, LastCall

WORKERS = 1000
IN_FLIGHT = 500
"""Fewer than the fewest rollouts, so that with both numbers as many are at work and others wait."""
CROWDED = 8_000
"""Rollouts at once, as with eight in each worker."""
PER_EXAMPLE = 4
TAKES_S, STRAGGLES = 1.0, 20
STRAGGLERS, FAILURES = 0.01, 0.0005
"""The shares of rollouts that take so many times as long, and that end their worker."""
FEW, MANY = 1_000, 1_000_000


class SimulatedWorker:
    """Stand-in for `Worker` without a process: rollouts take a drawn time."""

    def __init__(self, draw: random.Random) -> None:
        loop = asyncio.get_running_loop()
        self._loop, self._draw = loop, draw
        self.rows: set[int] = set()
        self.ready: asyncio.Future[list[Any]] = loop.create_future()
        self.lost: asyncio.Future[str] = loop.create_future()
        self.received: Any = None
        self.failed: Any = None
        self.verdict = None
        self.is_leaving = self.is_reported = self.process_has_ended = False
        self._culprit = NOBODY

    def send(self, message: Any) -> None:
        """Takes what the engine sends."""
        match message:
            case to_worker.Setup():
                self.ready.set_result([])
            case to_worker.Run(row=row):
                factor = STRAGGLES if self._draw.random() < STRAGGLERS else 1
                takes_s = self._draw.expovariate(1 / TAKES_S) * factor
                fails = self._draw.random() < FAILURES
                self._loop.call_later(takes_s, self._fail if fails else self._finish, row)
            case to_worker.GiveUp(row=row):
                self._loop.call_soon(self._finish, row)
            case to_worker.Leave():
                self.end()

    def _finish(self, row: int) -> None:
        if not self.lost.done():
            self.received(self, to_engine.Row(row, 0, b""))
            self.received(self, to_engine.Ended(row, ""))

    def _fail(self, row: int) -> None:
        if not self.lost.done():
            self._culprit = row
            self.end()

    def end(self) -> None:
        """Ends it, as somebody who kills it does."""
        self.process_has_ended = True
        self.lost.set_result("signal 9 (Killed)")

    def leave(self) -> None:
        """Ends it, and that was wanted."""
        self.is_leaving = True
        if not self.lost.done():
            self.end()

    kill = leave

    def still_for(self) -> float:
        """Never."""
        return 0.0

    def last_called(self) -> LastCall:
        """Call of the rollout that ended it."""
        row = self._culprit if self._culprit in self.rows else NOBODY
        return LastCall(row, "environment", "", False)


@dataclass(frozen=True, slots=True)
class Simulated:
    """Cost of one simulation: CPU seconds, simulated seconds, workers that were replaced."""

    cpu: float
    lasted: float
    replaced: int


def _plan() -> RunPlan:
    url = "http://127.0.0.1:1"
    return RunPlan(env_id="simulated", alias="", model="none", base_url=url, num_workers=WORKERS)


def parts_of(places: Places, schedule: Schedule, limits: Limits, warned: list[str]) -> EngineParts:
    """A run's, without files, screens and budgets."""
    active: dict[int, Any] = {}
    nothing = SimpleNamespace(
        active=active,
        mark_changed=lambda rollout: None,
        write=lambda row, number, line: active.pop(row),
        lines=lambda row: [],
    )

    def fail(why: str, error: Exception | None) -> None:
        raise NotMeasuredError(f"the simulated run failed: {why}") from error

    prepared = SimpleNamespace(
        plan=_plan(),
        **{"examples": places, "grouped": False, "answers": {}, "lost": {}, "worker": None},
        code_number=0,
        run=SimpleNamespace(log=""),
    )
    return EngineParts(
        prepared=cast(Any, prepared),
        hub=cast(Any, nothing),
        limits=limits,
        rows=cast(Any, nothing),
        journal=cast(Any, nothing),
        columns=cast(Any, nothing),
        guard=None,
        out_of_budget=lambda: False,
        warn=warned.append,
        start=schedule.start,
        fail=fail,
        replica_failed=lambda place, why: None,
        waiting=lambda: len(schedule.todo),
    )


async def _simulate(rollouts: int, in_flight: int) -> Simulated:
    draw = random.Random(1)
    ids = range(rollouts // PER_EXAMPLE)
    places = Places(len(ids), lambda: cast(Any, ids), PER_EXAMPLE)
    limits = Limits(Phases(in_flight, 0, 0), [0])
    failures: list[BaseException] = []

    async def guarded(work: Any) -> None:
        try:
            await work
        except Exception as error:
            failures.append(error)
            raise

    warned: list[str] = []
    schedule = Schedule(range(rollouts), guarded)

    async def launch() -> Worker:
        return cast(Worker, SimulatedWorker(draw))

    parts = parts_of(places, schedule, limits, warned)
    every = WorkerRollouts(parts, [], shares_scoring=False, launch=launch)
    await every.open(None)

    async def begin() -> bool:
        row = schedule.todo[0]
        held, _ = await limits.begin([0])
        schedule.todo.popleft()
        schedule.start(every.run(row, None, held), held)
        return True

    cpu, began = time.process_time(), asyncio.get_running_loop().time()
    await schedule.work_off(begin, lambda: None)
    cpu = time.process_time() - cpu
    lasted = asyncio.get_running_loop().time() - began
    await every.close()
    if failures:
        raise NotMeasuredError(f"the simulated run failed: {failures[0]!r}")
    return Simulated(cpu, lasted, len(warned))


def simulate(rollouts: int, in_flight: int = IN_FLIGHT) -> Simulated:
    """Works a run off, in simulated time."""
    return run_in_virtual_time(_simulate(rollouts, in_flight))


def _us_each(rollouts: int, total: int) -> float:
    """Microseconds of CPU a rollout, over as many runs as make up a total."""
    runs = [simulate(rollouts) for _ in range(max(1, total // rollouts))]
    return sum(one.cpu for one in runs) / (len(runs) * rollouts) * 1e6


def measure(setting: Setting) -> Iterator[Figure]:
    """A thousand rollouts many times, then a million once, with as many workers."""
    many = MANY // 10 if setting.quick else MANY
    few_us, many_us = [], []
    for _ in range(setting.repeats(3)):
        few_us.append(_us_each(FEW, 20 * FEW))
        many_us.append(_us_each(many, many))
    ratio = sorted(many_us)[len(many_us) // 2] / sorted(few_us)[len(few_us) // 2]
    yield Figure(
        f"CPU a rollout's decisions, {many:,} rollouts / {FEW:,}",
        ratio,
        1.2,
        "x",
        f"{WORKERS:,} workers; us: {spread(many_us)} and {spread(few_us)}",
    )
    crowded = simulate(many // 4, CROWDED)
    each_us = crowded.cpu / (many // 4) * 1e6
    note = f"{crowded.replaced} workers replaced in {crowded.lasted:.0f} simulated seconds"
    yield Figure(f"the same with {CROWDED:,} in flight", each_us, None, " us", note)
    yield Figure("memory of a waiting rollout", _bytes_each(MANY), 500, " bytes")


def _bytes_each(rollouts: int) -> float:
    """Memory of a schedule of so many rollouts, for each while it waits."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    rows = list(range(rollouts))  # as a plan has them

    async def guarded(work: Any) -> None:
        await work

    async def make() -> Schedule:
        return Schedule(rows, guarded)

    schedule = asyncio.run(make())
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    if len(schedule.todo) != rollouts:
        raise NotMeasuredError(f"{len(schedule.todo)} rollouts wait, not {number(rollouts)}")
    return held / rollouts

"""Rollouts in workers: leased to them, and run again elsewhere where their worker ends.

To a session this is what `Rollouts` is in its own process. The engine keeps slots, budget, journal
and rows, of which there must be one. A worker that ends is replaced, and its rollouts are resumed
from the journal: see `replacement`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tui_eval import clock
from tui_eval.engine.limits.limits import Held
from tui_eval.engine.setup.plan_checks import memory_faults
from tui_eval.engine.transport.worker import Verdict, Worker
from tui_eval.engine.workers.assignments import Assignments
from tui_eval.engine.workers.engine_parts import EngineParts, PendingWork
from tui_eval.engine.workers.group_homes import GroupHomes
from tui_eval.engine.workers.lease import Lease
from tui_eval.engine.workers.pool import Launch, Pool, worker_setup
from tui_eval.engine.workers.replacement import Replacement
from tui_eval.engine.workers.reports import Reports
from tui_eval.engine.workers.resources import carries, grow, limit_memory
from tui_eval.engine.workers.stalls import Stalls
from tui_eval.errors import RefusedError
from tui_eval.events import WorkersSeen
from tui_eval.types import ClientConfig
from tui_eval.worker import to_engine, to_worker
from tui_eval.worker.end_causes import IGNORED
from tui_eval.worker.vital_signs import LastCall

FILL_A_CORE = 256
"""Rollouts in flight that fill one, where a model answers fast."""


class WorkerRollouts:
    """Rollouts in workers; `generated` and `lost_tokens` are those of `Assignments`.

    Args:
        clients: The settings of the run's clients, one for each endpoint.
        shares_scoring: Slots for scoring are shared with other runs.
        launch: Starts a worker; a process of the first one's interpreter by default.
    """

    def __init__(
        self,
        parts: EngineParts,
        clients: Iterable[ClientConfig],
        *,
        shares_scoring: bool,
        launch: Launch | None = None,
    ) -> None:
        setup = worker_setup(parts, clients, shares_scoring=shares_scoring)
        self._parts = parts
        self._plan = parts.prepared.plan
        self._examples = parts.prepared.examples
        self._reports = Reports(parts, self._row_written, self._ended, self._ignores_end)
        take, failed = self._reports.take, self._failed
        if launch is None:
            first = parts.prepared.worker
            launch = partial(Worker.start, None if first is None else first.interpreter)
        more = self._worker_ended, failed, launch, parts.warn
        self.pool = Pool(setup, self._plan.env_id, take, *more)
        self.groups = GroupHomes(self._examples, self.pool)
        assigned = self._assigned = Assignments(parts, self.pool, self.groups)
        self._reports.groups, self._reports.leases = self.groups, assigned.leases
        self._replacement = Replacement(parts, self.pool, self.groups, assigned, self._name)
        self.generated, self.lost_tokens = assigned.generated, assigned.lost_tokens
        self._watching: list[asyncio.Task[None]] = []
        parts.hub.on_subscribed = lambda rows: self.pool.send_all(to_worker.Subscribe(sorted(rows)))

    async def open(self, first: Worker | None) -> None:
        """Starts the workers; of a growing pool the first ones.

        Args:
            first: One that is there already, and has loaded the environment.

        Raises:
            RefusedError: One could not load the environment, or takes more memory than it may.
            WorkerEndedError: One ended while it loaded it.
        """
        most = self._plan.worker_count
        await self.pool.open(self._first_count(most, first), first)
        if faults := memory_faults(self._plan, (one.pid for one in self.pool.workers)):
            raise RefusedError(faults)
        reports = self._parts.warn, lambda: self._parts.hub.publish(self._workers_seen())
        names = self._assigned.leases.get, self._name
        watching = [Stalls(self.pool, self._plan, *names, *reports).look()]
        if self._plan.grows:
            watching.append(grow(self.pool, most, self._parts.waiting, *reports))
        if self._plan.worker_memory:
            watching.append(limit_memory(self.pool, self._plan.worker_memory))
        self._watching = [asyncio.create_task(one) for one in watching]
        self._parts.hub.extra_events = lambda: [self._workers_seen()]

    def _first_count(self, most: int, first: Worker | None) -> int:
        """Number of workers before any rollout begins."""
        if not self._plan.grows:
            return most
        waiting, at_once = self._parts.waiting(), self._parts.prepared.started.max_concurrent
        if waiting > at_once > 0:
            waiting = at_once // FILL_A_CORE
        # Where all begin at once a worker that came later would get none.
        count = max(1, min(most, waiting))
        return 1 + carries(first.pid, count - 1) if first is not None else count

    async def close(self) -> None:
        """Has the workers tear their environments down, and ends them."""
        for one in self._watching:
            one.cancel()
        self._parts.hub.on_subscribed = lambda rows: None
        self._parts.hub.extra_events = tuple
        await self.pool.close()

    def _workers_seen(self) -> WorkersSeen:
        every = sorted((one.seen() for one in self.pool.every), key=lambda one: one.pid)
        return WorkersSeen(0, clock.now(), every)

    @property
    def may_begin_no_more(self) -> bool:
        """Whether the budget is spent."""
        return self._parts.out_of_budget()

    def run(self, row: int, client: object, held: Held) -> PendingWork:
        """Has a worker take one rollout from its input to its row, or to its wait for a score.

        Args:
            held: Its slots; the caller releases the rest of them.

        Returns:
            A wait until then; the rollout can be cancelled at once.
        """
        if (before := self._unended(row)) is not None:
            return self._after(before, lambda: self.run(row, client, held))
        lease = self._assigned.lease(row, held)
        answers = self._parts.prepared.answers.pop(row, [])
        self._assigned.run(row, self._assigned.worker_for(row), held, answers)
        return self._assigned.done(lease)

    def restore(self, row: int, record: Mapping[str, Any]) -> None:
        """Adds a rollout that an earlier session generated to those that are `generated`."""
        self._assigned.lease(row, Held())
        answers = self._parts.prepared.answers.pop(row, [])
        self._assigned.restore(row, self._assigned.worker_for(row), record, answers)
        self.generated.append(row)

    def score_next(self, held: Held) -> PendingWork:
        """Has one of those that are `generated` scored and written; returns a wait for that."""
        row = self.generated.popleft()
        lease = self._assigned.lease(row, held)
        lease.is_scored = True
        if (worker := self._assigned.worker_of(row)) is not None:
            worker.send(to_worker.Score(row, True))
        return self._assigned.done(lease)

    def cancel(self, rollout: Any) -> PendingWork | None:
        """Ends a rollout that has begun; returns a wait until its worker has done the rest."""
        row = rollout.row
        rest = self._assigned.renew_lease(row) if row in self.generated else None
        self._assigned.cancelled.add(row)
        if (worker := self._assigned.worker_of(row)) is not None:
            worker.send(to_worker.Cancel(row))
        return rest

    def never_begins(self, row: int) -> PendingWork:
        """Writes the row of a rollout that was cancelled before it began."""
        if (before := self._unended(row)) is not None:
            return self._after(before, lambda: self.never_begins(row))
        lease = self._assigned.lease(row, Held())
        self._assigned.write_cancelled(row, self._assigned.worker_for(row), [])
        return self._assigned.done(lease)

    def _unended(self, row: int) -> Lease | None:
        """The lease of a rollout that runs again while a worker is still at it."""
        before = self._assigned.leases.get(row)
        return None if before is None or before.is_done.done() else before

    @staticmethod
    async def _after(before: Lease, begin: Callable[[], PendingWork]) -> None:
        await asyncio.wait([before.is_done])
        await begin()

    def _row_written(self, worker: Worker, row: int) -> None:
        self._assigned.row_written(worker, row)
        self._replacement.deaths.written(row)

    def _ended(self, worker: Worker, message: to_engine.Ended) -> None:
        """Handles that a rollout needs nothing more of its worker at present."""
        row, lease = message.row, self._assigned.leases.get(message.row)
        if message.failure:
            self._parts.fail(message.failure, None)
        if lease is None or worker.is_leaving:  # the run is over
            return
        self._replacement.deaths.generated(row)
        if worker not in self.pool.workers and row in worker.rows:
            worker.rows.discard(row)
            self._replacement.again(
                row, self._assigned.worker_for(row)
            )  # it waits where its group does
            if not worker.rows:
                worker.leave()
            return
        waits = row in worker.rows and self._plan.score_at_end and not lease.is_scored
        if waits and not lease.is_done.done():
            self.generated.append(row)
        if row not in worker.rows:
            self._has_row(worker, lease)
        elif not lease.is_done.done():
            lease.is_done.set_result(None)
        if worker not in self.pool.workers and not worker.rows:
            worker.leave()

    def _has_row(self, worker: Worker, lease: Lease) -> None:
        """Ends a rollout that has its row; one that was run alone may have a group elsewhere."""
        home = self.groups.other_home(lease.row, worker)
        if home is None:
            self._assigned.finished(lease)
        else:
            lease.worker = home
            home.send(to_worker.Join(lease.row, self.groups.values(lease.row)))

    def _ignores_end(self, worker: Worker, message: to_engine.IgnoresEnd) -> None:
        if message.row in worker.rows:
            call = LastCall(message.row, message.error_class, message.what, True)
            limit = f"{self._plan.call_timeout:g} s"
            worker.kill(Verdict(call, IGNORED, limit, is_certain=True))

    def _worker_ended(self, worker: Worker, how: str) -> None:
        self._parts.start(self._replacement.replace(worker, how), Held())

    def _failed(self, error: Exception) -> None:
        self._parts.fail(f"{type(error).__name__}: {error}", error)

    def _name(self, row: int) -> str:
        example = self._examples.ids()[self._examples.example(row)]
        return f"example {example} #{self._examples.number(row)}"

"""Rollouts in workers: leased to them, and run again elsewhere where their worker ends.

To a session this is what `Rollouts` is in its own process. What must be one stays with the engine:
slots, budget, journal, rows. A worker that ends is replaced, and what it had goes on from the
journal. The rollout whose code it called last is run in a worker of its own then; where that one
ends as well, its row says so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

from tui_eval import clock
from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.verdict import Verdict
from tui_eval.engine.transport.worker import Worker
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.group_homes import GroupHomes
from tui_eval.engine.workers.growth import Growth, carries
from tui_eval.engine.workers.lease import Lease, RemoteRollout
from tui_eval.engine.workers.memory import MemoryLimit
from tui_eval.engine.workers.pool import Launch, Pool, worker_setup
from tui_eval.engine.workers.reports import Reports
from tui_eval.engine.workers.stalls import Stalls
from tui_eval.engine.workers.worker_deaths import MOST_CULPRITS, MOST_OF_NOBODY, WorkerDeaths
from tui_eval.events import WorkersSeen
from tui_eval.runs.journal_records import InFlight, tokens_of_answer
from tui_eval.runs.scan import decode_row
from tui_eval.token_kinds import Tokens, plus
from tui_eval.types import ClientConfig
from tui_eval.worker import to_engine, to_worker
from tui_eval.worker.end_causes import IGNORED, ITSELF, MEMORY
from tui_eval.worker.vital_signs import NOBODY, LastCall

FILL_A_CORE = 256
"""So many rollouts in flight do, where a model answers fast."""
GIVEN_UP_WITHIN_S = 10.0


class WorkerRollouts:
    """Rollouts in workers. `generated` are those that wait until all are generated.

    `lost_tokens` are those of rows that were taken back and of attempts of earlier sessions, by
    row.

    Args:
        clients: The settings of the run's, one for each endpoint.
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
        has_budget = parts.guard is not None
        setup = worker_setup(
            parts.prepared, clients, has_budget=has_budget, shares_scoring=shares_scoring
        )
        self._parts = parts
        self._plan = parts.prepared.plan
        self._examples = parts.prepared.examples
        self._reports = Reports(
            parts, self._lease_of, self._row_written, self._ended, self._ignores_end
        )
        take, failed = self._reports.take, self._failed
        if launch is None:
            first = parts.prepared.worker
            launch = partial(Worker.start, None if first is None else first.interpreter)
        self.pool = Pool(setup, self._plan.env_id, take, self._worker_ended, failed, launch)
        self.groups = GroupHomes(self._examples, self.pool)
        self._reports.groups = self.groups
        names = self._lease_of, self._name
        limits = self._plan.timeout, self._plan.call_timeout
        reports = parts.warn, lambda: parts.hub.publish(self._workers_seen())
        self._growth = Growth(self.pool, parts.waiting, *reports)
        self._stalls = Stalls(self.pool, self._plan.env_id, *limits, *names, *reports)
        self._memory = MemoryLimit(self.pool, self._plan.env_id, self._plan.worker_memory)
        self.generated: deque[int] = deque()
        self.lost_tokens = dict(parts.prepared.lost)
        self._leases: dict[int, Lease] = {}
        self._deaths = WorkerDeaths()
        self._given_up: dict[int, to_worker.GiveUp] = {}
        """Rollouts that ended their workers, until they have their row."""
        self._cancelled: set[int] = set()
        parts.hub.on_subscribed = lambda rows: self.pool.send_all(to_worker.Subscribe(sorted(rows)))

    async def open(self, first: Worker | None) -> None:
        """Starts the workers; of a run that grows those that it begins with.

        Args:
            first: One that is there already, and has loaded the environment.

        Raises:
            RefusedError: One could not load the environment.
            WorkerEndedError: One ended while it loaded it.
        """
        most = self._plan.worker_count
        await self.pool.open(self._first_count(most, first), first)
        if self._plan.grows:
            self._growth.begin(most)
        self._memory.begin()
        self._stalls.begin()
        self._parts.hub.extra_events = lambda: [self._workers_seen()]

    def _first_count(self, most: int, first: Worker | None) -> int:
        """How many workers there are before any rollout begins."""
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
        self._growth.end()
        self._stalls.end()
        self._memory.end()
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

    async def run(self, row: int, client: object, held: Held) -> None:
        """Has a worker take one rollout from its input to its row, or to where it waits.

        Args:
            held: Its slots; the caller gives back what is left of them.

        Raises:
            RuntimeError: Its worker failed.
        """
        lease = self._lease(row, held)
        answers = self._parts.prepared.answers.pop(row, [])
        self._begin(row, self._worker_for(row), held, answers)
        await self._wait(lease)

    async def _wait(self, lease: Lease) -> None:
        try:
            await lease.is_done
        finally:
            await lease.let_go(self._parts.guard)

    def restore(self, row: int, record: Mapping[str, Any]) -> None:
        """Puts a rollout that an earlier session generated among those that are `generated`."""
        self._lease(row, Held())
        answers = self._parts.prepared.answers.pop(row, [])
        self._restore(row, self._worker_for(row), record, answers)
        self.generated.append(row)

    def _restore(
        self, row: int, worker: Worker, record: Mapping[str, Any], answers: list[dict[str, Any]]
    ) -> None:
        lost = self._lost_tokens_of(row)
        self._give(worker, row, to_worker.Restore(row, dict(record), answers, lost))

    def _begin(self, row: int, worker: Worker, held: Held, answers: list[dict[str, Any]]) -> None:
        lost = self._lost_tokens_of(row)
        self._give(worker, row, to_worker.Run(row, held.endpoint, answers, lost))

    def _write_cancelled(self, row: int, worker: Worker, records: list[dict[str, Any]]) -> None:
        """Has a worker write the row of a rollout that somebody cancelled."""
        lost = self._lost_tokens_of(row)
        self._give(worker, row, to_worker.GiveUp(row, 1, "", "", ITSELF, lost, records))

    def _lost_tokens_of(self, row: int) -> Tokens:
        return tuple(self.lost_tokens.get(row, (0, 0)))

    def score_next(self, held: Held) -> Coroutine[Any, Any, None]:
        """What takes one of those that are `generated` to its row."""
        row = self.generated.popleft()
        lease = self._lease(row, held)
        lease.is_scored = True
        if (worker := self._worker_of(row)) is not None:
            worker.send(to_worker.Score(row, True))
        return self._wait(lease)

    def cancel(self, rollout: Any) -> None:
        """Ends a rollout that has begun: its worker does the rest."""
        self._cancelled.add(rollout.row)
        if (worker := self._worker_of(rollout.row)) is not None:
            worker.send(to_worker.Cancel(rollout.row))

    async def never_begins(self, row: int) -> None:
        """Gives a row to a rollout that was cancelled before it began."""
        lease = self._lease(row, Held())
        self._write_cancelled(row, self._worker_for(row), [])
        await self._wait(lease)

    def _lease(self, row: int, held: Held) -> Lease:
        loop = asyncio.get_running_loop()
        before = self._leases.get(row)
        lease = self._leases[row] = Lease(row, held, loop.time(), loop.create_future())
        lease.worker = None if before is None else before.worker
        if row not in self._parts.hub.active:
            number, lost = self._examples.number(row), self._lost_tokens_of(row)
            rollout = self._parts.hub.active[row] = RemoteRollout(row, number, lost)
            self._parts.hub.mark_changed(rollout)
        return lease

    def _lease_of(self, row: int) -> Lease | None:
        return self._leases.get(row)

    def _worker_for(self, row: int) -> Worker:
        """The worker that is to run a rollout: that of its group, where it has one."""
        if self._parts.prepared.grouped:
            return self.groups.home(row)
        return self.pool.least_busy()

    def _worker_of(self, row: int) -> Worker | None:
        """The worker that has a rollout; None while that is replaced, which goes on with it."""
        lease = self._leases.get(row)
        worker = None if lease is None else lease.worker
        return worker if worker in self.pool.every and row in worker.rows else None

    def _give(self, worker: Worker, row: int, message: Any) -> None:
        worker.rows.add(row)
        self._leases[row].worker = worker
        worker.send(message)

    def _row_written(self, worker: Worker, row: int) -> None:
        worker.rows.discard(row)
        lease = self._leases.get(row)
        if lease is not None and lease.is_done.done():  # it was scored with its group, by another
            del self._leases[row]
        self.lost_tokens.pop(row, None)
        self._cancelled.discard(row)
        self._given_up.pop(row, None)
        if row in self.generated:  # it was cancelled
            self.generated.remove(row)
        self._deaths.written(row)

    def _ended(self, worker: Worker, message: to_engine.Ended) -> None:
        """A worker has nothing more to do for a rollout at present."""
        row, lease = message.row, self._leases.get(message.row)
        if message.failure:
            self._parts.fail(message.failure, None)
        if lease is None:
            return
        self._deaths.generated(row)
        if worker not in self.pool.workers and row in worker.rows:
            worker.rows.discard(row)
            self._again(row, self._worker_for(row))  # it waits where its group does
            worker.leave()
            return
        waits = row in worker.rows and self._plan.score_at_end and not lease.is_scored
        if waits and not lease.is_done.done():
            self.generated.append(row)
        if row not in worker.rows:
            del self._leases[row]
        if not lease.is_done.done():
            lease.is_done.set_result(None)
        if worker not in self.pool.workers and not worker.rows:
            worker.leave()

    def _ignores_end(self, worker: Worker, message: to_engine.IgnoresEnd) -> None:
        if message.row in worker.rows:
            call = LastCall(message.row, message.error_class, message.what, True)
            limit = f"{self._plan.call_timeout:g} s"
            worker.kill(Verdict(call, IGNORED, limit, is_certain=True))

    def _worker_ended(self, worker: Worker, how: str) -> None:
        self._parts.start(self._replace(worker, how), Held())

    async def _replace(self, worker: Worker, how: str) -> None:
        """A worker has ended: what it had is run elsewhere, from the journal."""
        call, verdict = worker.last_called(), worker.verdict
        if verdict is not None:
            how = verdict.why
            if verdict.call.row in worker.rows:
                call = verdict.call
        row = call.row
        self._report_end(worker, how, row)
        for lease in [one for one in self._leases.values() if one.worker is worker]:
            await lease.let_go(self._parts.guard)
            if lease.row not in worker.rows and not lease.is_done.done():
                lease.is_done.set_result(None)  # it has its row
        count = self._deaths.add(row)
        if self._deaths.of_nobody >= MOST_OF_NOBODY:
            self._parts.fail(f"{MOST_OF_NOBODY} workers ended one after the other: {how}", None)
            return
        if verdict is not None and verdict.call.row != row:
            verdict = None
        is_certain = verdict is not None and verdict.is_certain
        is_suspect = row != NOBODY and count < 2 and not is_certain
        try:
            new = await self.pool.replace(worker) if worker in self.pool.workers else None
            alone = await self.pool.start_another() if is_suspect else None
        except Exception as error:
            self._parts.fail(str(error), error)
            return
        if new is not None:
            self.groups.move(worker, new)
        rows, worker.rows = sorted(worker.rows - {row}), set()
        if alone is not None:
            self._again(row, alone)
        elif row != NOBODY:
            await self._give_up(call, how, verdict)
        for one in rows:
            self._again(one, new or self._worker_for(one))

    def _failed(self, error: Exception) -> None:
        self._parts.fail(f"{type(error).__name__}: {error}", error)

    def _report_end(self, worker: Worker, how: str, row: int) -> None:
        whose = "" if row == NOBODY else f" in the code of {self._name(row)}"
        count = len(worker.rows)
        rollouts = "rollout is" if count == 1 else "rollouts are"
        self._parts.warn(f"A worker ended{whose}: {how}. {count:,} {rollouts} run again")

    def _name(self, row: int) -> str:
        example = self._examples.ids()[self._examples.example(row)]
        return f"example {example} #{self._examples.number(row)}"

    def _again(self, row: int, worker: Worker) -> None:
        """Has another worker go on with a rollout, from what the journal has of it."""
        generated, answers = self._in_flight(row)
        lease = self._leases[row]
        if row in self._given_up:  # another one ended the worker that was to write its row
            self._give(worker, row, self._given_up[row])
            return
        if row in self._cancelled:
            self._write_cancelled(row, worker, self._records(row))
            return
        if generated is not None:
            has_slots = not lease.is_done.done()
            if not has_slots and row not in self.generated:
                lease = self._lease(row, Held())
                self._parts.start(self._wait(lease), lease.held)
            self._restore(row, worker, generated, answers)
            if row not in self.generated:
                lease.is_scored = True
                worker.send(to_worker.Score(row, has_slots))
            return
        lease.began_at = asyncio.get_running_loop().time()
        self._begin(row, worker, lease.held, answers)

    def _in_flight(self, row: int) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """What the journal has of a rollout: itself where it is generated, and answers."""
        found = InFlight()
        for line in self._parts.journal.lines(row):
            found.add(decode_row(line))
        return found.generated.get(row), found.answers.get(row, [])

    def _records(self, row: int) -> list[dict[str, Any]]:
        """The same as a list."""
        generated, answers = self._in_flight(row)
        return answers if generated is None else [generated, *answers]

    async def _give_up(self, call: LastCall, how: str, verdict: Verdict | None) -> None:
        """A rollout ended workers: its row says so, before others go on.

        Args:
            verdict: Why the engine ended the last one for it; None where it ended by itself.
        """
        row = call.row
        records = self._records(row)
        lost = self._lost_tokens_of(row)
        for record in records:
            if "judge" in record:  # whose tokens are in no row's own
                lost = plus(lost, tokens_of_answer(record))
        attempt = records[-1]["attempt"] if records else 1
        why = f"It ended its worker: {how}, twice"
        if verdict is not None:
            why = f"{how}, twice" if verdict.cause == MEMORY else how
        cause = ITSELF if verdict is None else verdict.cause
        if cause in (ITSELF, MEMORY):  # a limit of time is there to end them
            self._deaths.add_culprit(row, call.error_class)
        message = to_worker.GiveUp(row, attempt, call.error_class, why, cause, tuple(lost), records)
        self._given_up[row] = message
        self._give(self._worker_for(row), row, message)
        await asyncio.wait([self._leases[row].is_done], timeout=GIVEN_UP_WITHIN_S)
        if self._deaths.are_too_many and (self._parts.waiting() or self._leases.keys() - {row}):
            what = f"{MOST_CULPRITS} rollouts in a row ended their workers, none finished between"
            self._parts.fail(f"{what}: {how}. Mend the environment, then resume the run", None)

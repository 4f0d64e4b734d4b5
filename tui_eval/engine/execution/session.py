"""A run from its plan to its end: prepared, worked through, stopped, summed up.

A session owns the run's files from the first rollout to the last event, and nobody else writes
them. Whatever ends it (the last rollout, a budget, a signal, a full disk) goes through the same
close: files first, then the lock, then the event, so that a listener that gets that event can read
all of the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from tui_eval import clock
from tui_eval.clients.wire.longest_answer import longest_by_default
from tui_eval.commands import Command, Pause, Stop, Unpause
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.replica_health import ReplicaHealth
from tui_eval.engine.execution.rollout_work import AtWork, RolloutWork, rollouts_here
from tui_eval.engine.execution.run_files import RunFiles, Unwritten
from tui_eval.engine.execution.run_metadata import RunMetadata
from tui_eval.engine.execution.schedule import EarlyStop, Schedule
from tui_eval.engine.execution.steering import Steering
from tui_eval.engine.limits.budget import Budget, CallGuard
from tui_eval.engine.limits.limits import Limits
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.worker_rollouts import WorkerRollouts
from tui_eval.errors import RefusedError
from tui_eval.events import RunFinished, RunMoved
from tui_eval.open_files import release_spare
from tui_eval.runs.crash_recovery import write_outcome
from tui_eval.runs.layout import is_unsaved
from tui_eval.runs.outcome import session_outcome
from tui_eval.runs.redaction import Redactor
from tui_eval.state import State
from tui_eval.worker.gate import Gate
from tui_eval.worker.replicas import Replicas
from tui_eval.worker.rollout_retries import refuses_key
from tui_eval.worker.to_worker import Exhausted, MoveGate, MoveLog
from tui_eval.worker.work import ColumnsSeen

log = logging.getLogger("tui_eval.engine")


class Session:
    """Works one run through. `stop` ends it early and resumably; so does cancelling `run`.

    `cause` is the exception that made it fail, `metadata` writes the run's metadata.json.
    """

    def __init__(
        self,
        hub: Hub,
        prepared: Prepared,
        redact: Redactor,
        replicas: Replicas,
        host: Host,
        limits: Limits,
    ) -> None:
        """Opens the run's files.

        Raises:
            OSError: They cannot be written.
        """
        self.cause: BaseException | None = None
        self._hub = hub
        self._host = host
        self._limits = limits
        self._replicas = replicas
        self._prepared = prepared
        self._plan = prepared.plan
        self._redact = redact
        self._warn = partial(hub.notice, "warning")
        self._gate = Gate()
        self._files = RunFiles(prepared, hub, redact, host, self._move_gate, self._fail)
        self._is_paused = False
        self._columns = ColumnsSeen(self._plan.state_columns)
        self.metadata = RunMetadata(prepared, hub, redact)
        self._schedule = Schedule(prepared.todo, self._guarded)
        self._steering: Steering | None = None
        self._workers: WorkerRollouts | None = None
        self._health = ReplicaHealth(replicas, hub)
        self._job: asyncio.Task[None] | None = None
        self._given_up = False
        self._failure = self._spent = ""
        self._early = EarlyStop(hub)
        self._budget: Budget | None = None
        if self._plan.max_cost is not None or self._plan.max_total_tokens is not None:
            self._budget = Budget(self._plan.max_cost, self._plan.max_total_tokens, self._used)
        self._guard: CallGuard | None = None
        hub.before_publishing = self._files.writer.flush_index

    def handle(self, command: Command) -> None:
        """Handles a listener's command."""
        if isinstance(command, (Pause, Unpause)):
            self._is_paused = isinstance(command, Pause)
            self._move_gate()
        elif isinstance(command, Stop):
            self.stop()
        elif self._steering is not None:
            self._steering.handle(command)
        else:
            text = "No rollout is worked on yet, or none any more: nothing was done."
            self._hub.answer(text, False)

    @property
    def is_at_work(self) -> bool:
        """Whether rollouts may begin: everything that they need is loaded."""
        return self._steering is not None

    def _move_gate(self) -> None:
        """Opens or closes the gate: people may pause the run, and a disk that refuses."""
        is_open, refuses = not self._is_paused, self._files.disk.error is not None
        if refuses and is_open:
            self._files.disk.try_now()
        if self._gate.is_open == (is_open and not refuses):
            if refuses:  # who resumes the run is answered
                self._hub.move_gate(False)
            return
        (self._gate.close if self._gate.is_open else self._gate.open)()
        self._hub.move_gate(self._gate.is_open)
        if self._workers is not None:
            self._workers.pool.send_all(MoveGate(self._gate.is_open))

    def stop(self) -> None:
        """Ends the run now: calls in flight are given up, finished rollouts are on disk."""
        if self._given_up:
            return  # a second cancellation would cut cleanup and teardown short
        self._given_up = True
        self._host.giving_up()
        if self._job is not None:
            self._job.cancel()

    def _fail(self, why: str, cause: BaseException | None = None) -> None:
        if cause is not None and self._host.is_own:
            log.error("the engine failed", exc_info=cause)
        if not self._failure:
            self._failure = why
            self.cause = cause
        self.stop()

    @property
    def _see_log(self) -> str:
        return "; see engine.log" if self._host.is_own else ""

    async def run(self) -> RunFinished:
        """Works through the rest of the run and closes its files.

        Where the caller's task is cancelled the run ends early and resumably; the caller sees
        that by `Task.cancelling`.
        """
        self._hub.publish(self._prepared.started)
        self._hub.flush()
        for event in self._prepared.done:
            self._hub.state.apply(event)
        self._prepared.done.clear()  # the sums have them: they may be most of a run's memory
        self.metadata.write()
        writing = asyncio.create_task(self.metadata.write_often())
        self._job = asyncio.create_task(self._work_through())
        if self._given_up:
            self._job.cancel()
        while not self._job.done():
            try:
                await asyncio.wait([self._job])
            except asyncio.CancelledError:
                self.stop()
        writing.cancel()
        error = None if self._job.cancelled() else self._job.exception()
        if error is not None:
            is_refused = isinstance(error, RefusedError)
            self._fail(f"{error}" if is_refused else f"{type(error).__name__}: {error}", error)
        return self._close()

    async def _work_through(self) -> None:
        self._replicas.failed = lambda why: self._fail(why + self._see_log)
        try:
            await self._replicas.open()
            rollouts = await self._rollouts()
            self._host.loaded()
            await self._resume_journal(rollouts)
            work = self._prepared, self._hub, self._schedule, rollouts, self._limits
            self._steering = Steering(
                AtWork(*work, self._files, self._publish_move, self.metadata.write)
            )
            begin = partial(self._begin_next, rollouts)
            await self._schedule.work_off(begin, self._host.all_begun)
            while rollouts.generated:
                await self._score_generated(rollouts)
                await self._schedule.work_off(begin, self._host.all_begun)
            await self._files.disk.wait()
        finally:
            self._steering = None
            await self._schedule.give_up(self._host.cancels_within_s)
            if self._guard is not None:
                self._guard.close()
            self._health.close()
            if self._workers is not None:
                await self._workers.close()
            elif self._prepared.worker is not None:
                self._prepared.worker.kill()
            await self._replicas.close()

    async def _score_generated(self, rollouts: RolloutWork) -> None:
        while rollouts.generated:
            held = await self._limits.begin_scoring()
            if not rollouts.generated:  # they were cancelled meanwhile
                held.release()
                break
            self._schedule.start(rollouts.score_next(held), held)

    async def _begin_next(self, rollouts: RolloutWork) -> bool:
        """Begins the first rollout that waits; False where none may begin any more."""
        todo = self._schedule.todo
        row = todo[0]
        alone = self._plan.independent_scoring or len(self._replicas) == 1
        group = None if alone else self._prepared.examples.example(row)
        held, endpoint = await self._limits.begin(self._replicas.endpoints(group))
        self._early.check(todo)
        if self._out_of_budget() or not todo or todo[0] != row:  # cancelled, or others go first
            held.release()
            return not self._spent
        todo.popleft()
        client = self._replicas.take(endpoint, group)
        self._schedule.start(rollouts.run(row, client, held), held)
        return True

    def _publish_move(self) -> None:
        """Publishes that the run is in another directory from now on."""
        run = self._prepared.run
        self._hub.path = str(run.path)
        self._hub.publish(RunMoved(0, clock.now(), str(run.path), not is_unsaved(run)))
        self._host.open_log(run.log)
        self._host.moved(run)
        if self._workers is not None:
            self._workers.pool.send_all(MoveLog(str(run.log)))

    def _out_of_budget(self) -> bool:
        """Whether the run has used what it may; calls in flight finish all the same."""
        if not self._spent:
            own = self._budget.reached() if self._budget is not None else ""
            self._exhausted(self._host.spent() or own)
        return bool(self._spent)

    def _used(self) -> tuple[int, float | None]:
        self._hub.flush()
        return self._hub.state.tokens, self._hub.state.cost

    def _exhausted(self, why: str) -> None:
        if why and not self._spent:
            self._spent = why
            if self._workers is not None:
                self._workers.pool.send_all(Exhausted())
            self._warn(f"No further calls begin: {why}")

    def _make_guard(self) -> CallGuard | None:
        """The guard that holds model calls until they fit into budgets; None without budgets."""
        budgets = [one for one in (self._budget, self._host.budget) if one is not None]
        if not budgets:
            return None
        return CallGuard(
            budgets,
            self._prepared.started.output_price,
            longest_by_default(self._plan.client_type),
            exhausted=self._exhausted,
            parked_more=self._schedule.more_are_parked,
            warn=self._warn,
        )

    def _warn_of_workers(self, text: str) -> None:
        log.warning("%s", text)
        self._warn(text)

    async def _rollouts(self) -> RolloutWork:
        guard = self._guard = self._make_guard()
        if guard is not None:
            self._schedule.parked = lambda: guard.parked
        parts = EngineParts(
            prepared=self._prepared,
            hub=self._hub,
            limits=self._limits,
            rows=self._files.rows,
            journal=self._files.journal,
            columns=self._columns,
            guard=guard,
            out_of_budget=self._out_of_budget,
            warn=self._warn_of_workers,
            start=self._schedule.start,
            fail=self._fail,
            replica_failed=self._health.failed,
            waiting=lambda: len(self._schedule.todo),
        )
        if self._prepared.loaded is None or self._plan.num_workers:
            shares = self._limits.is_shared
            self._workers = WorkerRollouts(parts, self._replicas.configs, shares_scoring=shares)
            self._health.send = self._workers.pool.send_all
            await self._workers.open(self._prepared.worker)
            self._workers.pool.send_all(MoveGate(self._gate.is_open))
            return self._workers
        self._health.look_after_calls_here()
        return rollouts_here(parts, self._gate, self._is_fatal, is_own=self._host.is_own)

    def _is_fatal(self, state: State) -> bool:
        """Whether the endpoint takes no key of a program's: a command has tried it before."""
        return refuses_key(state) and not (self._host.is_own or self._used()[0])

    async def _resume_journal(self, rollouts: RolloutWork) -> None:
        """Rollouts that an earlier session generated go straight to their score."""
        generated, answers = self._prepared.journal.items(), self._prepared.answers.items()
        self._files.journal.keep([*generated, *((row, one) for row, all in answers for one in all)])
        await self._files.disk.wait()
        for row, values in self._prepared.saved_members.items():
            rollouts.groups.add_saved(row, values)
        for row, record in generated:
            rollouts.restore(row, record)
        if not self._plan.score_at_end:
            await self._score_generated(rollouts)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except OSError as error:
            self._fail(self._files.cannot_write(error), error)
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}{self._see_log}", error)

    def _outcome(self) -> RunFinished:
        return session_outcome(
            clock.now(),
            self._hub.state,
            failure=self._failure,
            spent=self._spent,
            early=self._early.why,
            was_stopped=self._given_up,
        )

    def _fail_of(self, unwritten: Unwritten) -> None:
        self._failure = self._failure or unwritten.why
        if self._failure:
            self._failure += unwritten.rescued

    def _close(self) -> RunFinished:
        self._limits.publish_last()
        self._hub.flush()
        path = self._prepared.run.path
        unwritten = self._files.close()
        self._fail_of(unwritten)
        self.cause = self.cause or unwritten.error
        if self._prepared.run.path != path:
            self._publish_move()
        end = self._outcome()
        end.missing_columns = self._columns.missing()
        self._hub.state.apply(end)
        self.metadata.write()
        release_spare()
        self._prepared.lock.release()
        self._hub.before_publishing = lambda: None
        self._hub.publish(end)
        self._hub.flush()
        return end

    def emergency_close(self) -> int:
        """Called from another thread while the loop is held: leaves the files whole.

        Returns:
            The exit code.
        """
        self._fail_of(self._files.emergency_close())
        end = write_outcome(self._prepared.run, self._outcome())
        if self._workers is not None:
            self._workers.pool.kill()
        # Last: from a lock that nobody holds others know that the end was not written.
        self._prepared.lock.release()
        return end.exit_code

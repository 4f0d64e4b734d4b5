"""Several evaluations in one engine: begun in their order, worked on within shared limits.

They share one process because they share what is scarce: an endpoint's rate limit, a budget, open
files. Each evaluation is a run like any other, with a directory, a hub and a socket of its own, so
that everything that can show a run can show one of these.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from tui_eval import clock
from tui_eval.commands import Cancel, Command, Pause, Rerun, Save, SetMaxConcurrent, Stop, Unpause
from tui_eval.config.command_line import resume_words
from tui_eval.config.options import BUDGETS, BY_NAME
from tui_eval.config.plan import Request
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.job import RunJob, let_listeners_read, own_process
from tui_eval.engine.limits.limits import (
    Limits,
    Phases,
    open_file_notices,
    within_open_files,
)
from tui_eval.engine.setup.preflight import Preflight
from tui_eval.engine.setup.prepare import client_config, prepare_in_thread
from tui_eval.engine.setup.resume import spent_on_disk
from tui_eval.engine.setup.suite_lock import lock_suite
from tui_eval.engine.suite.evaluation_status import EvaluationStatus, SuiteBudget
from tui_eval.engine.suite.shared_limits import SuiteLimits
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.server import listen
from tui_eval.engine.transport.sockets import bind_socket, loopback_of, socket_folder
from tui_eval.errors import RefusedError
from tui_eval.events import (
    Event,
    GateMoved,
    ListedEvaluation,
    MaxConcurrentChanged,
    RunFinished,
    SuiteStarted,
)
from tui_eval.runs.discovery import describe
from tui_eval.runs.outcome import interrupted, raised, refused, suite_outcome
from tui_eval.runs.run_info import read_metadata
from tui_eval.worker.gate import Gate
from tui_eval.worker.logging.run_log import (
    CURRENT_LOG,
    RunLog,
    print_to_logs,
    take_output,
)
from tui_eval.worker.replicas import Replicas, SharedClients

log = logging.getLogger("tui_eval.engine")

PUBLISHED_EVERY_S = 0.4
MAX_CONCURRENT = 64
"""Maximum number of concurrent evaluations: each has files and a socket open."""

IDLE_S = 0.1
IDLE_LOOKS = 3
"""Looks, so many seconds apart, at which the shared limit must have room to count as unused."""


class Suite:
    """Several runs as one job. Evaluations that have not begun leave nothing on disk."""

    def __init__(self, found: Preflight, hub: Hub, socket: str) -> None:
        """Locks the evaluations for this process.

        Args:
            socket: Path of the engine's socket.

        Raises:
            OSError: The lock cannot be written.
        """
        request = found.expanded.request
        self._found = found
        self._hub = hub
        plans = [one.plan for one in found.evaluations]
        self._evaluations = [EvaluationStatus(index, plan) for index, plan in enumerate(plans)]
        self._working: dict[int, RunJob] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._clients = SharedClients()
        self._limits = SuiteLimits(Phases(*found.limits))
        self._rooms = asyncio.Semaphore(MAX_CONCURRENT)
        self._gate = Gate()
        self._job: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()
        self._has_output = False
        self._budget = SuiteBudget(
            found.max_cost,
            found.max_total_tokens,
            self._evaluations,
            partial(hub.notice, "warning"),
        )
        self._count_what_is_on_disk()
        path = str(Path(str(request.env_id)).resolve())
        self._lock = lock_suite(Path(path), socket)
        listed = [one.listed for one in self._evaluations]
        self._started = _suite_started(request, path, listed, self._limits.max_concurrent)
        hub.path, hub.extra_events = path, self._extra_events
        print_to_logs(hub.redact)

    def _extra_events(self) -> list[Event]:
        if self._job is None:
            return []
        gate = GateMoved(0, clock.now(), self._hub.gate_open, 0)
        return [self._started, *self._moved(), gate]

    def _moved(self) -> list[Event]:
        """The status of each evaluation that has something on disk."""
        last = [one.last for one in self._evaluations]
        return [one for one in last if one.status != "waiting" or one.total]

    def finished(self) -> int:
        """Rollouts that have a row on disk."""
        return sum(one.last.finished for one in self._evaluations)

    def worker_pids(self) -> list[int]:
        """Processes that run the rollouts of its evaluations."""
        return [pid for one in self._working.values() for pid in one.worker_pids()]

    def hubs(self) -> list[Hub]:
        """The hubs of its evaluations, beside the engine's own."""
        return [one.hub for one in self._evaluations if one.hub is not None]

    def stop(self) -> None:
        """Ends all evaluations early and resumably."""
        self._stopped.set()
        if self._job is not None:
            self._job.cancel()
        for session in [*self._working.values()]:
            session.stop()

    def handle(self, command: Command) -> None:
        """Handles a command on all evaluations."""
        if isinstance(command, Stop):
            self.stop()
        elif isinstance(command, SetMaxConcurrent):
            for notice in open_file_notices(command.max_concurrent, name="The limit"):
                self._hub.answer(notice.text, False)
            self._set_max_concurrent(within_open_files(command.max_concurrent))
        elif isinstance(command, Save):
            for session in self._working.values():
                session.handle(command)
            many = f"{len(self._working):,} evaluations are" if self._working else "Nothing is"
            self._hub.answer(f"{many} being saved now.")
        elif isinstance(command, (Cancel, Rerun)):
            text = "A suite has no rollouts of its own: choose an evaluation."
            self._hub.answer(text, False)
        elif isinstance(command, (Pause, Unpause)):
            opens = isinstance(command, Unpause)
            if opens != self._gate.is_open:
                (self._gate.open if opens else self._gate.close)()
                self._hub.move_gate(opens)
            for session in self._working.values():
                session.handle(command)

    def _handle_at(self, session: RunJob, command: Command) -> None:
        """Handles a command from one evaluation's own socket.

        Pausing acts on all: nobody at this socket sees that the others stand still. A limit above
        the shared one would have no effect alone, and moves both.
        """
        if isinstance(command, (Pause, Unpause)):
            self.handle(command)
            return
        if (
            isinstance(command, SetMaxConcurrent)
            and command.max_concurrent > self._limits.max_concurrent > 0
        ):
            self.handle(command)
        session.handle(command)

    def _set_max_concurrent(self, limit: int) -> None:
        """Moves the shared limit, and those of evaluations that are no lower.

        An evaluation that may have fewer rollouts in flight than all together keeps its own limit.
        """
        before = self._limits.max_concurrent
        if limit == before:
            return
        self._limits.move(limit)
        for one in self._evaluations:
            if 0 < one.plan.max_concurrent < self._found.limits[0]:
                continue
            if one.index in self._working:
                self._working[one.index].handle(SetMaxConcurrent(limit))
            elif one.exit_code is None:
                one.plan.max_concurrent = limit
        self._started = replace(self._started, max_concurrent=limit)
        self._hub.publish(MaxConcurrentChanged(0, clock.now(), limit, before))

    def emergency_close(self) -> int:
        """Closes all evaluations: see `Session.emergency_close`."""
        for session in [*self._working.values()]:
            session.emergency_close()
        for one in self._evaluations:
            if one.last.socket:
                Path(one.last.socket).unlink(missing_ok=True)
        self._lock.release()
        return interrupted(clock.now()).exit_code

    async def run(self) -> RunFinished:
        """Works through all evaluations."""
        for event in (self._started, *self._moved()):
            self._hub.publish(event)
        for notice in self._found.notices:
            self._hub.notice(notice.level, notice.text)
        revealing = asyncio.create_task(self._publish_often())
        self._job = asyncio.create_task(self._begin_all())
        if self._stopped.is_set():
            self._job.cancel()
        await asyncio.wait([self._job])
        if self._tasks:
            await asyncio.wait(self._tasks)
        revealing.cancel()
        self._found.close()
        await self._clients.close()
        if not self._job.cancelled():
            self._job.result()
        end = suite_outcome(
            clock.now(),
            [one.exit_code for one in self._evaluations],
            spent=self._budget.spent,
            was_stopped=self._stopped.is_set(),
        )
        self._lock.release()
        self._hub.publish(end)
        self._hub.flush()
        return end

    async def _begin_all(self) -> None:
        for one, planned in zip(self._evaluations, self._found.evaluations, strict=True):
            await self._gate.wait()
            await self._rooms.acquire()
            await self._limits.one_is_free()
            if self._budget.check() and planned.run is None:
                self._rooms.release()
                continue
            task = asyncio.create_task(self._work(one))
            task.add_done_callback(lambda _: self._rooms.release())
            self._tasks.append(task)
            await self._begun_or_held_up(one)

    async def _begun_or_held_up(self, one: EvaluationStatus) -> None:
        """Waits until all rollouts have begun, or those that wait leave the shared limit unused.

        They are then held up by a limit of their own, or that of their endpoint.
        """
        idle = 0
        while idle < IDLE_LOOKS:
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_S):
                    await one.all_begun.wait()
                return
            session = self._working.get(one.index)
            is_idle = session is not None and session.is_at_work and self._limits.has_room
            idle = idle + 1 if is_idle else 0

    async def _work(self, one: EvaluationStatus) -> None:
        """Takes one evaluation from its plan to its end; a fault does not reach the others."""
        run_log = RunLog(one.plan.verbose)
        CURRENT_LOG.set(run_log)
        try:
            replicas = await self._clients.of(client_config(one.plan))
            if not self._stopped.is_set():
                await self._prepare_and_work(one, replicas, run_log)
        except RefusedError as error:
            log.error("refused: %s", error)
            self._hub.publish(one.over(refused(clock.now(), error)))
        except Exception as error:
            log.exception("the evaluation failed")
            self._hub.publish(one.over(raised(clock.now(), error)))
        finally:
            one.all_begun.set()
            self._working.pop(one.index, None)
            run_log.close()

    async def _prepare_and_work(
        self, one: EvaluationStatus, replicas: Replicas, run_log: RunLog
    ) -> None:
        slow = partial(self._hub.notice, "warning")
        checked = await self._found.take(one.index, slow)
        if self._stopped.is_set():
            checked.opened.close()
            return
        path = str(socket_folder() / f"{uuid.uuid4().hex[:12]}.sock")
        sock = bind_socket(path)
        try:
            is_spent = bool(self._budget.spent)
            prepared = await prepare_in_thread(checked, path, slow, is_spent=is_spent)
            hub = one.begin(prepared.started, len(prepared.done), path)
            hub.redact, hub.pid = self._hub.redact, self._hub.pid
            total, shared = prepared.started.total, self._limits.shared(one.plan)
            limits = Limits.of(one.plan, total, len(replicas), hub.publish, shared)
            session = RunJob(hub, prepared, replicas, self._host(one, run_log), limits)
            self._working[one.index] = session
            handle, loopback = partial(self._handle_at, session), loopback_of(sock, path)
            server = await listen(sock, hub, handle, lambda: None, loopback)
            if self._stopped.is_set():
                session.stop()
            if not self._gate.is_open:
                session.handle(Pause())
            self._hub.publish(one.moved())
            self._hub.flush()  # the launcher closes the run if this process dies at its first step
            self._hub.publish(one.over(await session.run()))
            self._working.pop(one.index, None)
            one.all_begun.set()
            await let_listeners_read(hub)
            server.close()
            for listener in hub.listeners:
                listener.close()
        finally:
            sock.close()
            Path(path).unlink(missing_ok=True)

    def _host(self, one: EvaluationStatus, run_log: RunLog) -> Host:
        def open_log(path: Path) -> None:
            if not self._has_output:
                self._has_output = True
                take_output(path, self._hub.redact)
            run_log.open(path)

        return own_process(
            spent=self._budget.check,
            budget=self._budget.shared,
            notify=self._hub.notice,
            open_log=open_log,
            moved=lambda run: self._hub.publish(one.moved_to(run)),
            all_begun=one.all_begun.set,
        )

    def _count_what_is_on_disk(self) -> None:
        """Counts earlier sessions, also those of evaluations that are yet to be resumed."""
        for one, planned in zip(self._evaluations, self._found.evaluations, strict=True):
            if planned.run is None:
                continue
            found = describe(planned.run)
            if found is not None:
                one.find(found, read_metadata(planned.run))
            if self._budget.shared is not None:
                one.count(*spent_on_disk(planned.plan, planned.run))

    async def _publish_often(self) -> None:
        while True:
            await asyncio.sleep(PUBLISHED_EVERY_S)
            for index in self._working:
                if self._evaluations[index].has_moved():
                    self._hub.publish(self._evaluations[index].moved())


def _suite_started(
    request: Request, path: str, listed: list[ListedEvaluation], max_concurrent: int
) -> SuiteStarted:
    """The suite's first event."""
    words, is_edited = resume_words(request.raw), request.text is not None
    budgets = [BY_NAME[name].flags[0] for name in BUDGETS if name in request.raw]
    return SuiteStarted(0, clock.now(), path, listed, max_concurrent, words, budgets, is_edited)

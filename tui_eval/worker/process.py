"""A worker: runs rollouts for the engine that started it, and ends with it.

The engine watches it from outside: where people's code blocks it, ends it or uses up its memory,
the engine starts another one.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
from collections import deque
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.structs import replace

from tui_eval import cuts
from tui_eval.clients.replica_set import ReplicaSet
from tui_eval.clients.wire.longest_answer import LongestAnswers, longest_by_default
from tui_eval.config.plan import RunPlan
from tui_eval.environments.author_errors import describe
from tui_eval.errors import Fault, is_cancellation
from tui_eval.observer import CURRENT
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.redaction import Redactor
from tui_eval.types import ClientConfig
from tui_eval.worker import to_engine, to_worker
from tui_eval.worker.description.info import settings_of
from tui_eval.worker.digests import digest_now
from tui_eval.worker.end_causes import ERRORS
from tui_eval.worker.engine_ports import (
    EngineGuard,
    EngineHeld,
    EngineHub,
    EngineJournal,
    EngineLimits,
    EnginePort,
    EngineRows,
)
from tui_eval.worker.examples import Examples
from tui_eval.worker.gate import Gate
from tui_eval.worker.link import Link
from tui_eval.worker.logging.run_log import (
    early_output,
    end_output,
    print_to_log,
    set_up_logging,
)
from tui_eval.worker.memory import tune_memory
from tui_eval.worker.open_environment import Loaded, describe_loaded, load_environment
from tui_eval.worker.ports import BEGIN_IN_ONE_TURN
from tui_eval.worker.replicas import Replicas
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.rollouts import Rollouts
from tui_eval.worker.vital_signs import VitalSigns
from tui_eval.worker.work import ColumnsSeen, Work

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment

log = logging.getLogger("tui_eval.worker")

BEATS_EVERY_S = 0.1
CANCELS_WITHIN_S = 1.0
TEARDOWN_WITHIN_S = 30.0
LEAVES_WITHIN_S = 1.5
"""Seconds for cleanup and teardown where the engine is gone."""


class WorkerProcess:
    """The worker's side of the process: connection, environment, clients and rollouts."""

    def __init__(self, signs: VitalSigns) -> None:
        self._signs = signs
        self._link = Link(to_worker.ToWorker, self._received, self._engine_gone, self._failed)
        self._send = self._link.send
        self._engine = EnginePort(self._send)
        self._hub = EngineHub(self._engine, signs)
        self._gate = Gate()
        self._to_begin: deque[tuple[Coroutine[Any, Any, None], int]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving = asyncio.Event()
        self._disconnected = asyncio.Event()
        self._is_exhausted = False
        self._loaded: Loaded | None = None
        self._redact = Redactor()
        self._replicas: Replicas | None = None
        self._replica_set: ReplicaSet | None = None
        self._out: list[int] = []
        self._socket = -1

    async def main(self, sock: socket.socket) -> None:
        """Works until the engine says so, or is gone."""
        loop, link = asyncio.get_running_loop(), self._link
        self._socket = sock.fileno()
        await loop.create_connection(lambda: link, sock=sock)
        self._send(to_engine.Hello(to_engine.PROTOCOL))
        link.flush()
        beating = loop.create_task(self._beat())
        try:
            await self._leaving.wait()
        except asyncio.CancelledError:
            self._end_now("it cancelled the tasks of its worker, or stopped its loop")
        within = LEAVES_WITHIN_S if self._disconnected.is_set() else TEARDOWN_WITHIN_S
        try:
            async with asyncio.timeout(within):
                await self._leave()
        except TimeoutError:
            self._warn(f"teardown handlers were given up after {within:.0f} s")
        beating.cancel()
        await self._cancel_what_is_left()
        self._send(to_engine.Left())
        link.close()
        await self._disconnected.wait()

    async def _cancel_what_is_left(self) -> None:
        """Cancels the tasks that people's code left running; those that refuse are left behind."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CANCELS_WITHIN_S)

    async def _beat(self) -> None:
        while True:
            self._signs.beat()
            await asyncio.sleep(BEATS_EVERY_S)

    def _engine_gone(self) -> None:
        self._leaving.set()
        self._disconnected.set()

    def _warn(self, text: str) -> None:
        self._send(to_engine.Warned(text))

    def _received(self, message: to_worker.ToWorker) -> None:
        if isinstance(message, to_worker.Granted):  # most are
            self._engine.granted(message.number)
        elif isinstance(message, to_worker.Run):
            self._run_rollout(message)
        elif isinstance(message, to_worker.Open):
            self._start(self._open(message))
        elif isinstance(message, to_worker.Setup):
            self._redact = Redactor.of_process(message.secrets)
            self._open_log(message.log)
            self._start(self._set_up(message))
        elif isinstance(message, to_worker.Leave):
            self._leaving.set()
        elif isinstance(message, to_worker.MoveGate):
            self._gate.open() if message.is_open else self._gate.close()
        elif isinstance(message, to_worker.MoveLog):
            self._open_log(message.log)
        elif isinstance(message, to_worker.Exhausted):
            self._is_exhausted = True
        elif isinstance(message, to_worker.ReplicasOut):
            self._out = message.endpoints
            if self._replica_set is not None:
                self._replica_set.move(message.endpoints)
        elif isinstance(message, to_worker.Subscribe):
            self._hub.subscribe(message.rows)
        else:
            self._of_rollout(message)

    def _open_log(self, path: str) -> None:
        """Prints to this file from now on; where that is gone, as before until the log moves."""
        try:
            print_to_log(Path(path), self._redact, self._socket)
        except OSError as error:
            self._warn(f"What a worker prints is not in engine.log: {error}")

    def _run_rollout(self, message: to_worker.Run) -> None:
        row = message.row
        self._work.answers[row] = message.answers
        self._rollouts.lost_tokens[row] = message.lost
        assert self._replicas is not None, "what runs rollouts was set up"
        held = EngineHeld(self._engine, row, True, message.endpoint)
        work = self._rollouts.run(row, self._replicas.clients[message.endpoint], held)
        self._to_begin.append((work, row))
        if len(self._to_begin) == 1:
            asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        for _ in range(min(BEGIN_IN_ONE_TURN, len(self._to_begin))):
            self._start(*self._to_begin.popleft())
        if self._to_begin:
            asyncio.get_running_loop().call_soon(self._begin_some)

    def _of_rollout(self, message: to_worker.ToWorker) -> None:
        rollouts = self._rollouts
        if isinstance(message, to_worker.Restore):
            self._work.answers[message.row] = message.answers
            rollouts.lost_tokens[message.row] = message.lost
            rollouts.restore(message.row, message.record)
        elif isinstance(message, to_worker.Score):
            held = EngineHeld(self._engine, message.row, message.has_slots)
            self._start(rollouts.score_next(held, message.row), message.row)
        elif isinstance(message, to_worker.AddSaved):
            rollouts.groups.add_saved(message.row, message.values)
        elif isinstance(message, to_worker.Join):
            self._start(rollouts.join_saved(message.row, message.values), message.row)
        elif isinstance(message, to_worker.Cancel):
            self._cancel(message.row)
        elif isinstance(message, to_worker.GiveUp):
            self._give_up(message)
        elif isinstance(message, to_worker.ForgetMembers):
            for row in message.rows:
                rollouts.groups.forget(row)
            self._send(to_engine.Forgot(message.number))

    def _cancel(self, row: int) -> None:
        watch = self._hub.active.get(row)
        if isinstance(watch, RolloutObserver):
            rest = None if watch.is_over else self._rollouts.cancel(watch)
            if rest is not None:
                self._start(rest, row)

    def _give_up(self, message: to_worker.GiveUp) -> None:
        rollouts, row = self._rollouts, message.row
        rollouts.lost_tokens[row] = message.lost
        if not message.error_class:
            self._start(rollouts.never_begins(row, message.records), row)
            return
        error = ERRORS[message.cause](message.why)
        error.error_class = message.error_class
        records, took_s = message.records, message.took_s
        self._start(rollouts.give_up(row, message.attempt, error, records, took_s), row)

    def _start(self, work: Coroutine[Any, Any, None], row: int | None = None) -> None:
        task = asyncio.create_task(work if row is None else self._work_off(work, row))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(done, work, row))

    async def _work_off(self, work: Coroutine[Any, Any, None], row: int) -> None:
        await work
        # In the turn of the loop that sent its row: nobody has it run again before this is known.
        self._report_end(row)

    def _report_end(self, row: int, failure: str = "") -> None:
        self._hub.flush_stage(row)
        self._send(to_engine.Ended(row, failure))

    def _ended(
        self, task: asyncio.Task[None], work: Coroutine[Any, Any, None], row: int | None
    ) -> None:
        self._tasks.discard(task)
        work.close()  # where the task was cancelled before it began
        error = task.exception() if not task.cancelled() else None
        if task.cancelled() and not self._leaving.is_set():
            if row is None:
                error = asyncio.CancelledError("by code of the environment")
            elif row in self._hub.active:  # it has no row
                self._end_now("it cancelled the task of a rollout")
        if error is not None:
            self._failed(error, row)
        elif task.cancelled() and row is not None:
            self._report_end(row)

    def _propagates(self, error: BaseException) -> bool:
        """Whether an exception of people's code ends the task: only a cancellation as the worker
        leaves or a rollout is ended does. One of their own is taken back.
        """
        if not is_cancellation(error):
            return False
        watch, every = CURRENT.get(), self._hub.active.values()
        is_cut = any(isinstance(one, RolloutObserver) and one.is_being_cut for one in every)
        is_late = isinstance(watch, RolloutObserver) and watch.deadline.expired
        if is_cut or is_late or self._leaving.is_set():
            return True
        task = asyncio.current_task()
        while task is not None and task.cancelling():
            task.uncancel()
        return False

    @staticmethod
    def _end_now(why: str) -> NoReturn:
        """Ends the process; the journal has its rollouts."""
        log.error("code of the environment ended the worker: %s", why)
        end_output()
        os._exit(1)

    def _failed(self, error: BaseException, row: int | None = None) -> None:
        log.error("the worker failed", exc_info=error)
        self._report_end(-1 if row is None else row, describe(error))

    async def _open(self, message: to_worker.Open) -> None:
        """Loads the environment and sends its description."""
        settings = message.settings
        cuts.know(message.secrets)
        os.chdir(message.folder)
        os.environ.update(message.variables)
        set_up_logging(False, [settings.env_id])
        info = None
        with early_output():
            self._loaded, faults = load_environment(settings)
            if self._loaded is not None:
                info, more = describe_loaded(self._loaded, settings)
                faults += more
        ids: list[Any] = []
        if self._loaded is not None and info is not None:
            info = replace(info, sampling_args=Cleaner().clean(info.sampling_args))
            ids = self._loaded.table["example_id"]
        self._signs.beat()
        self._send(to_engine.Described(info, faults, ids))

    async def _set_up(self, setup: to_worker.Setup) -> None:
        plan = RunPlan.model_validate_json(setup.plan)
        set_up_logging(plan.verbose, [plan.env_id])
        faults = self._load(plan) if self._loaded is None else []
        if self._loaded is not None and not faults:
            self._begin(setup, plan, self._loaded)
            self._replicas = Replicas([ClientConfig.model_validate_json(c) for c in setup.clients])
            await self._replicas.open()
            if len(self._replicas) > 1:
                self._replica_set = ReplicaSet(
                    self._replicas.clients,
                    lambda *failed: self._send(to_engine.ReplicaFailed(*failed)),
                )
                self._replica_set.move(self._out)
            tune_memory()
        self._signs.beat()
        parts = [(fault.where, fault.what, fault.hint) for fault in faults]
        self._send(to_engine.Ready(parts))

    def _load(self, plan: RunPlan) -> list[Fault]:
        self._loaded, faults = load_environment(settings_of(plan.model_dump()))
        if self._loaded is None or faults:
            return faults
        if digest_now(plan.examples_digest or "", self._loaded.table) != plan.examples_digest:
            what = "it gave other examples to a worker than to the engine"
            hint = "Its dataset differs at each load: give it a seed"
            hint += ", or leave --num-workers out" if plan.worker_count > 1 else ""
            return [Fault(f"environment {plan.env_id}", what, hint)]
        return []

    def _begin(self, setup: to_worker.Setup, plan: RunPlan, loaded: Loaded) -> None:
        columns = ColumnsSeen(plan.state_columns)
        longest = LongestAnswers(longest_by_default(plan.client_type), self._warn)
        guard = functools.partial(EngineGuard, self._engine, self._hub, longest=longest)
        self._work = Work.of_plan(
            plan,
            loaded.env,
            sampling_args={**loaded.env.sampling_args, **plan.sampling_args},
            examples=Examples(loaded.table, plan.rollouts_per_example),
            seen=columns,
            grouped=setup.grouped,
            out_of_budget=lambda: self._is_exhausted,
            guard_of=lambda row: guard(row) if setup.has_budget else None,
            code=setup.code,
            propagates=self._propagates,
        )
        rows = EngineRows(self._engine, self._hub, self._redact, columns)
        limits = EngineLimits(self._engine, setup.limits_scoring)
        journal = EngineJournal(self._engine)
        self._rollouts = Rollouts(self._work, self._hub, self._gate, limits, rows, journal)
        self._rollouts.groups.moved = lambda *moved: self._send(to_engine.GroupMoved(*moved))

    async def _leave(self) -> None:
        """Ends the rollouts, with their cleanup, and tears the environment down."""
        while self._to_begin:
            self._start(*self._to_begin.popleft())
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CANCELS_WITHIN_S)
        if self._loaded is not None:
            for error in await _tear_down(self._loaded.env):
                log.error("a teardown handler failed", exc_info=error)
                self._warn(f"a teardown handler raised {describe(error)}; see engine.log")
        if self._replicas is not None:
            await self._replicas.close()


async def _tear_down(env: Environment) -> list[BaseException]:
    try:
        return await env.run_teardown()
    except BaseException as error:
        if is_cancellation(error):
            raise
        return [error]

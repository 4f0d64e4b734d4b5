"""The process of an engine: its socket and signals, its job, and samples of its load.

Its end is timely also while people's code holds the loop or hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from tui_eval import clock
from tui_eval.commands import Command, Stop
from tui_eval.config.expansion import Expander
from tui_eval.config.plan import Request
from tui_eval.engine.execution.job import Job, RunJob, let_listeners_read, own_process
from tui_eval.engine.interpreters.interpreter import Interpreter
from tui_eval.engine.limits.limits import Limits
from tui_eval.engine.setup.expanded_request import ExpandedRequest, expand_request
from tui_eval.engine.setup.opened_environment import open_environment
from tui_eval.engine.setup.preflight import Preflight, preflight
from tui_eval.engine.setup.prepare import client_config, key_of, prepare_in_thread, redactor_of
from tui_eval.engine.suite.suite import Suite
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.server import listen
from tui_eval.engine.transport.sockets import loopback_notices, loopback_of
from tui_eval.engine.transport.started_worker import StartedWorker
from tui_eval.engine.transport.worker import Worker
from tui_eval.errors import Notice, RefusedError, WorkerEndedError, ctrl_c_raises_nothing
from tui_eval.events import EngineSampled, Refused
from tui_eval.processes import cpu_seconds, private_memory
from tui_eval.runs.outcome import failed, interrupted, refused
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.unsaved import prune
from tui_eval.worker.logging.run_log import early_output, print_to_log, set_up_logging
from tui_eval.worker.replicas import ClientElsewhere, Replicas

LAUNCHER_CONNECTS_WITHIN_S = 5.0
TICK_S = 0.05
EVERY_TICKS = 10
EVERY_ROLLOUTS = 500
EMERGENCY_CLOSE_AFTER_S = 1.4
LEAVES_WITHIN_S = 0.5
FILES_WITHIN_S = 8.0
"""For the files of a run; its disk may not answer at all."""


class TimelyEnd:
    """Turns SIGINT and SIGTERM into a stop, and ends a process that does not end by itself.

    Args:
        stop: Called on the loop after a signal.
        emergency_close: Called from another thread where a stop was not over in time; returns the
            exit code that the process ends with then.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stop: Callable[[], None],
        emergency_close: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._stop = stop
        self._emergency_close = emergency_close
        self._timer: threading.Timer | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._received)
        ctrl_c_raises_nothing()

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.count_down()
        self._loop.call_soon_threadsafe(self._stop)

    def count_down(self) -> None:
        """Starts the time that a stop may take."""
        if self._timer is None:
            self._start_timer(EMERGENCY_CLOSE_AFTER_S, self._end)

    def over(self, code: int) -> None:
        """Ends the process soon, without waiting for tasks and threads of people's code."""
        if self._timer is not None:
            self._timer.cancel()
        self._start_timer(LEAVES_WITHIN_S, os._exit, code)

    def _start_timer(self, seconds: float, function: Callable[..., Any], *args: Any) -> None:
        self._timer = threading.Timer(seconds, function, args)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        code = interrupted(clock.now()).exit_code
        self._start_timer(FILES_WITHIN_S, os._exit, code)
        try:
            code = self._emergency_close()
        finally:
            os._exit(code)


class Engine:
    """The engine's process: its socket, its signals, and its job.

    Args:
        first: The process of the worker that was started with it; None for none.
    """

    def __init__(
        self,
        request: Request,
        sock: socket.socket,
        socket_path: str,
        launched: bool,
        first: StartedWorker | None,
    ) -> None:
        self._first = first
        self._request = request
        self._sock = sock
        self._socket_path = socket_path
        self._launched = launched
        self._hub = Hub()
        self._hub.pid = os.getpid()
        self._job: Job | None = None
        self._preparing: asyncio.Task[Job] | None = None
        self._spare: asyncio.Task[Worker] | None = None
        self._early: list[Command] = []
        self._notices: list[Notice] = []
        self._stopped = False
        self._code = interrupted(clock.now()).exit_code

    async def main(self) -> int:
        """Prepares the job and works it through; returns the exit code."""
        self._end = TimelyEnd(asyncio.get_running_loop(), self._stop, self._emergency_close)
        if self._first is not None:
            self._spare = asyncio.create_task(Worker.of(self._first))
        loopback = loopback_of(self._sock, self._socket_path)
        self._notices = loopback_notices(loopback)
        server = await listen(self._sock, self._hub, self._handle, self._stop, loopback)
        try:
            if not self._launched or await self._launcher_connects():
                await self._prepare_and_work()
            await let_listeners_read(self._hub)
            server.close()
            self._remove_files()
        finally:
            await self._end_spare()
            self._end.over(self._code)
        return self._code

    async def _prepare_and_work(self) -> None:
        task = self._preparing = asyncio.create_task(self._prepare())
        await asyncio.wait([task])
        self._preparing = None
        if task.cancelled():
            return
        try:
            job = task.result()
        except RefusedError as error:
            self._code = refused(clock.now(), error).exit_code
            sys.stderr.writelines(self._hub.redact.text(f"{fault}\n") for fault in error.faults)
            self._hub.publish(Refused(0, [(f.where, f.what, f.hint) for f in error.faults]))
            self._hub.flush()
        except WorkerEndedError as error:
            end = failed(clock.now(), str(error))
            self._code = end.exit_code
            self._hub.publish(end)
            self._hub.flush()
        else:
            await self._work(job)

    async def _prepare(self) -> Job:
        """Prepares the job of the request.

        Raises:
            RefusedError: With everything that is wrong.
            WorkerEndedError: An environment ended the process that loaded it.
            OSError: The files of a run alone cannot be written.
        """
        request = self._request
        set_up_logging(bool(request.raw.get("verbose")), [request.env_id or ""])
        with early_output():
            expanded = expand_request(Expander(request))
            plans = [one.plan for one in expanded.evaluations]
            self._hub.redact = redactor_of(plans)
            found = await self._preflight(expanded)
        found.notices += self._notices
        self._hub.redact = Redactor.of_process({key for plan in plans for key in key_of(plan)})
        set_up_logging(any(one.verbose for one in plans), {one.env_id for one in plans})
        if found.expanded.is_suite:
            return Suite(found, self._hub, self._socket_path)
        slow = functools.partial(self._hub.notice, "warning")
        prepared = await prepare_in_thread(await found.take(0, slow), self._socket_path, slow)
        prepared.notices = list(dict.fromkeys([*found.notices, *prepared.notices]))
        open_log = functools.partial(print_to_log, redact=self._hub.redact)
        host = own_process(giving_up=self._end.count_down, open_log=open_log)
        plan, total = prepared.plan, prepared.started.total
        replicas = Replicas([client_config(plan)], ClientElsewhere)
        limits = Limits.of(plan, total, len(plan.served_at), self._hub.publish)
        return RunJob(self._hub, prepared, replicas, host, limits)

    async def _preflight(self, expanded: ExpandedRequest) -> Preflight:
        """Has each environment loaded and checked; its worker waits for its evaluation."""
        opened = {}
        try:
            for index, settings in expanded.to_open().items():
                slow = functools.partial(self._hub.notice, "warning")
                opened[index] = await open_environment(settings, self._worker, slow)
            return preflight(expanded, opened)
        except BaseException:
            for one in opened.values():
                one.close()
            raise

    async def _worker(self, interpreter: Interpreter | None) -> Worker:
        """The worker that was started first, or else another one."""
        if interpreter is not None:
            await self._end_spare()
            return await Worker.start(interpreter)
        spare, self._spare = self._spare, None
        return await (spare or Worker.start())

    async def _end_spare(self) -> None:
        """Ends the worker that was started first, where nothing runs in it."""
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(OSError):
                (await spare).kill()

    async def _launcher_connects(self) -> bool:
        """Whether the process that started this one is still there: else nobody wants the run."""
        with contextlib.suppress(TimeoutError):
            listens = self._hub.somebody_listens.wait()
            async with asyncio.timeout(LAUNCHER_CONNECTS_WITHIN_S):
                return await listens
        return False

    async def _work(self, job: Job) -> None:
        self._job = job
        if self._stopped:
            job.stop()
        for command in self._early:
            job.handle(command)
        pruning = asyncio.create_task(asyncio.to_thread(prune))
        sampling = asyncio.create_task(_sample(self._hub, job))
        self._code = (await job.run()).exit_code
        sampling.cancel()
        self._job = None
        await pruning

    def _stop(self) -> None:
        self._stopped = True
        self._end.count_down()
        if self._preparing is not None:
            self._preparing.cancel()
        if self._job is not None:
            self._job.stop()

    def _emergency_close(self) -> int:
        self._remove_files()
        return self._code if self._job is None else self._job.emergency_close()

    def _remove_files(self) -> None:
        """Removes the socket, and the early log that a launcher which is gone left there."""
        path = Path(self._socket_path)
        path.unlink(missing_ok=True)
        if self._launched:
            path.with_suffix(".log").unlink(missing_ok=True)

    def _handle(self, command: Command) -> None:
        if isinstance(command, Stop):
            self._stop()
        elif self._job is not None:
            self._job.handle(command)
        else:
            self._early.append(command)


async def _sample(hub: Hub, job: Job) -> None:
    """Reports a sample every half second, and every 500 finished rollouts."""
    loop = asyncio.get_running_loop()
    lag, ticks, sampled_at = 0.0, 0, 0
    while True:
        before = loop.time()
        await asyncio.sleep(TICK_S)
        lag = max(lag, loop.time() - before - TICK_S)
        ticks += 1
        finished = job.finished()
        if ticks >= EVERY_TICKS or finished - sampled_at >= EVERY_ROLLOUTS:
            sampled_at, ticks = finished, 0
            cpu, memory = taken_with(job.worker_pids())
            figures = (cpu, lag * 1000, memory, finished)
            for one in (hub, *job.hubs()):
                one.publish(EngineSampled(0, clock.now(), *figures))
            lag = 0.0


def taken_with(pids: Iterable[int]) -> tuple[float, float]:
    """CPU seconds and MB of memory of this process, its ended children and, by `/proc`, others."""
    ended = os.times()
    cpu = time.process_time() + ended.children_user + ended.children_system
    if not Path("/proc/self/statm").exists():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # with what it shares with others
        return cpu, most * (1 if sys.platform == "darwin" else 1024) / 1e6
    every = [*pids]
    memory = sum(private_memory(pid) or 0 for pid in (os.getpid(), *every))
    return cpu + sum(map(cpu_seconds, every)), memory / 1e6

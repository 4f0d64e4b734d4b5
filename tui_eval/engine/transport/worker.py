"""One worker, for its engine: its process, its connection, its vital signs and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from tui_eval import clock, cuts
from tui_eval.engine.interpreters.interpreter import Interpreter
from tui_eval.engine.transport.started_worker import StartedWorker, start_worker
from tui_eval.errors import Fault, WorkerEndedError
from tui_eval.events import WorkerSeen
from tui_eval.fold.error_place import place_of
from tui_eval.processes import private_memory
from tui_eval.worker import to_engine, to_worker
from tui_eval.worker.description.info import EnvironmentSettings
from tui_eval.worker.end_causes import IGNORED, MEMORY, TIMEOUT
from tui_eval.worker.link import Link
from tui_eval.worker.vital_signs import NOBODY, LastCall, VitalSigns

ANSWERS_WITHIN_S = 0.2
"""Seconds in which a worker writes its stack."""
PRINTED_BYTES = 1 << 20
"""Bytes of a worker's output that are shown where it never had a log."""
HELD_AFTER_S = 1.0
"""Seconds without a turn of its loop after which a worker is held by its code."""
READ_WITHIN_S = 0.5
"""Seconds to read the last messages of a worker that has ended."""

SLOW_LOAD_S = 30.0
"""Seconds of loading an environment after which that is reported."""

Start = TypeVar("Start")
Received: TypeAlias = Callable[["Worker", Any], None]


class Verdict(msgspec.Struct, frozen=True):
    """The engine's reason to end a worker.

    Args:
        call: The one that it ran.
        cause: One of `worker.end_causes`: the limit that it passed, or `IGNORED` where the call was
            cancelled for one and did not end.
        limit: That limit for people: `4 s`.
        place: The line of the code, in brackets; empty where that is not known.
        is_certain: No other rollout can have done it.
    """

    call: LastCall
    cause: str
    limit: str
    place: str = ""
    is_certain: bool = False

    @property
    def why(self) -> str:
        """The reason, for people."""
        what = self.call.what or "Its code"
        if self.cause == MEMORY:
            return f"{what} took its worker past {self.limit} (--worker-memory)"
        option = "--call-timeout"
        if self.cause == TIMEOUT:
            what, option = "The rollout", "--timeout"
        held = f"and held its worker{self.place}"
        if self.cause == IGNORED:
            held = "and ignored its end"
        return f"{what} took longer than {self.limit} ({option}), {held}"


class Worker:
    """A process that runs rollouts. `rows` are its rollouts that have no row yet.

    `described` is done once it has loaded an environment alone; its result is None where it ended
    before. `ready` is done once it can run rollouts; its result are the faults of its environment.
    `lost` is done once its process has ended; its result says how, for people.
    """

    def __init__(self, process: StartedWorker, interpreter: Interpreter | None) -> None:
        loop = asyncio.get_running_loop()
        self.received: Received = lambda worker, message: None
        """Gets each of its messages."""
        self.described: asyncio.Future[to_engine.Described | None] = loop.create_future()
        self.rows: set[int] = set()
        self.ready: asyncio.Future[list[tuple[str, str, str]]] = loop.create_future()
        self.lost: asyncio.Future[str] = loop.create_future()
        self.has_started = False
        """Whether it has sent its protocol."""
        self.interpreter = interpreter
        """Its interpreter; None for the engine's own."""
        self.verdict: Verdict | None = None
        """Why the engine ended it; None where it did not."""
        self.failed: Callable[[Exception], None] = lambda error: None
        """Called where one of its messages could not be handled."""
        self.is_leaving = False
        self.held_at = ""
        """The place where people's code holds it, in brackets, once that was looked for."""
        self.last_stack = ""
        """Its stack when a signal ended it, as Python prints tracebacks, if it could write it."""
        self.stood: tuple[float, int] = (0.0, NOBODY)
        """For how long it stood still at the last look, and in whose code."""
        self.last_line = ""
        """The last line of its output, where it ended before it had a log."""
        self.is_reported = False
        """Whether it was reported that it stands still."""
        self._process = process
        self._signs = process.signs
        self._last_called = LastCall(NOBODY, "environment", "", False)
        self._is_closed = asyncio.Event()
        self._link = Link(to_engine.ToEngine, self._take, self._is_closed.set, self._link_failed)
        self.send: Callable[[Any], None] = self._link.send
        """Sends a message, with those of the same turn of the loop."""
        self._watching = loop.create_task(self._watch())

    @classmethod
    async def start(cls, interpreter: Interpreter | None = None) -> Worker:
        """Starts a process.

        Its output is kept until it is set up, and has a log; where it ends before that, this
        process prints it.

        Args:
            interpreter: Its interpreter; None for this process's own.

        Raises:
            OSError: It could not be started.
        """
        words = () if interpreter is None else (interpreter.command("tui_eval.worker"),)
        return await cls.of(start_worker(*words), interpreter)

    @classmethod
    async def of(cls, process: StartedWorker, interpreter: Interpreter | None = None) -> Worker:
        """The worker whose process was started."""
        worker = cls(process, interpreter)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: worker._link, sock=process.socket)
        return worker

    @property
    def process_has_ended(self) -> bool:
        """Whether its process has ended."""
        return self._process.has_ended

    def _take(self, message: Any) -> None:
        if not self.ready.done():
            self._take_early(message)
        self.received(self, message)

    def _take_early(self, message: Any) -> None:
        """Handles a message that may be one of its start."""
        if isinstance(message, to_engine.Hello):
            self.has_started = True
            self._check(message.protocol)
        elif isinstance(message, to_engine.Described) and not self.described.done():
            self.described.set_result(message)
        elif isinstance(message, to_engine.Ready):
            self.ready.set_result(message.faults)
        elif isinstance(message, to_engine.Ended) and message.failure:
            self._refuse(message.failure)

    def _link_failed(self, error: Exception) -> None:
        self._refuse(f"{type(error).__name__}: {error}")
        self.failed(error)

    def _refuse(self, what: str, hint: str = "") -> None:
        """Fails the futures of its start with a fault."""
        if not self.described.done():
            self.described.set_result(to_engine.Described(None, [Fault("worker", what, hint)], []))
        if not self.ready.done():
            self.ready.set_result([("worker", what, hint)])

    def _check(self, protocol: int) -> None:
        """Refuses a worker with another protocol: none of its messages can be read."""
        if protocol == to_engine.PROTOCOL:
            return
        what = f"it speaks protocol {protocol}, and this engine {to_engine.PROTOCOL}"
        hint = "Install the same version of tui-eval where the worker runs"
        self._refuse(what, hint)
        self._link.close()
        self.kill()

    async def _watch(self) -> None:
        """Waits for the end of the process, and handles its last messages."""
        code = await self._process.wait()
        with contextlib.suppress(TimeoutError):  # a child of its own may have the socket still
            async with asyncio.timeout(READ_WITHIN_S):
                await self._is_closed.wait()
        self._link.close()
        self._last_called = self._signs.last_called()
        self.last_stack = self._signs.stack()
        self._signs.close()
        if not self.described.done():
            self.described.set_result(None)
        if not self.ready.done():
            self._print()
            self.ready.set_result([])
        self._process.printed.close()
        name = signal.strsignal(-code) if code < 0 else None
        self.lost.set_result(f"signal {-code} ({name})" if code < 0 else f"exit status {code}")

    def _print(self) -> None:
        with contextlib.suppress(OSError):
            printed = os.pread(self._process.printed.fileno(), PRINTED_BYTES, 0)
            self.last_line = printed.decode(errors="replace").strip().rpartition("\n")[2]
            os.write(2, printed)

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.popen.pid

    def open(self, settings: EnvironmentSettings) -> None:
        """Has it load an environment, in this process's folder and with its variables."""
        now = {
            name: value
            for name, value in os.environ.items()
            if self._process.variables.get(name) != value
        }
        self.send(to_worker.Open(settings, str(Path.cwd()), now, cuts.known()))

    def kill(self, verdict: Verdict | None = None) -> None:
        """Ends the process at once.

        Args:
            verdict: The reason, where that is its code.
        """
        self.verdict = verdict or self.verdict
        with contextlib.suppress(ProcessLookupError):
            self._process.popen.kill()

    async def stack(self) -> str:
        """Its stack, as Python prints tracebacks; empty where it cannot write it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.popen.send_signal(VitalSigns.WHERE)
        await asyncio.sleep(ANSWERS_WITHIN_S)
        return "" if self.lost.done() else self._signs.stack()

    def leave(self) -> None:
        """Requests that it tears its environment down and ends."""
        self.is_leaving = True
        self.send(to_worker.Leave())

    def still_for(self) -> float:
        """Seconds since the last turn of its loop; 0 before it is ready and after its end."""
        is_up = self.ready.done() and not self.process_has_ended
        return self._signs.still_for() if is_up else 0.0

    def seen(self) -> WorkerSeen:
        """Its state, for people."""
        still = self.still_for()
        since = clock.now() - still if still > HELD_AFTER_S else 0.0
        state = "at work" if self.ready.done() else "starting"
        memory = private_memory(self.pid) or 0
        return WorkerSeen(
            *(self.pid, "leaving" if self.is_leaving else state, len(self.rows), memory / 1e6),
            *(since, self.held_at.strip(" ()") if since else ""),
        )

    def last_called(self) -> LastCall:
        """The call that it made last; nobody's where it does not have that rollout any more."""
        call = self._last_called if self.lost.done() else self._signs.last_called()
        return call if call.row in self.rows else replace(call, row=NOBODY)


async def loaded(
    worker: Worker, start: asyncio.Future[Start], env_id: str, slow: Callable[[str], None]
) -> Start:
    """The result of `described` or `ready` of a worker.

    Args:
        slow: Gets a sentence, once, where loading the environment takes long.
    """
    done, _ = await asyncio.wait([start], timeout=SLOW_LOAD_S)
    if not done:
        place = place_of(await worker.stack(), env_id) if worker.has_started else ""
        at = f" ({place})" if place else ""
        slow(f"A worker has been loading {env_id} for {SLOW_LOAD_S:g} s{at}")
    return await start


async def ended_at_load(worker: Worker, env_id: str) -> WorkerEndedError:
    """The error that an environment ended the process that loaded it: how and, if known, where."""
    how = await worker.lost
    place = place_of(worker.last_stack, env_id)
    where = f" ({place})" if place else ""
    if worker.verdict is not None and worker.verdict.cause == MEMORY:
        how, where = worker.verdict.why, ". Give it more, then resume the run"
    return WorkerEndedError(
        f"environment {env_id} ended its worker while it was loaded: {how}{where}"
    )

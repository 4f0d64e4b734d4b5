"""The workers of a run: started together, and replaced where one ends before the run does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from msgspec.structs import replace

from tui_eval.engine.setup.prepare import key_of
from tui_eval.engine.transport.worker import Received, Worker, ended_at_load, loaded
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.errors import Fault, RefusedError, WorkerEndedError
from tui_eval.types import ClientConfig
from tui_eval.worker import to_worker

Launch: TypeAlias = Callable[[], Awaitable[Worker]]
"""Starts a worker: a process here."""

LOOKED_AT = 16
"""Workers of which the least busy one is taken. A few that are drawn keep loads almost as even as
all do (M. Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, 2001)."""
MOST_LOADS = 4
"""Number of tries to start a worker that replaces one or is one more."""
LEAVES_WITHIN_S = 31.0
"""Seconds; a few more than teardown handlers may take: see `worker.process`."""


class Pool:
    """Workers of one setup.

    Args:
        setup: The first message to each.
        received: Gets their messages.
        ended: Called where one ended that was not to; gets how.
        failed: Called where a message of one could not be handled.
        launch: Starts one more.
        slow: Gets a sentence where loading the environment takes long.
    """

    def __init__(
        self,
        setup: to_worker.Setup,
        env_id: str,
        received: Received,
        ended: Callable[[Worker, str], None],
        failed: Callable[[Exception], None],
        launch: Launch,
        slow: Callable[[str], None],
    ) -> None:
        self._launch = launch
        self._slow = slow
        self._setup = setup
        self._env_id = env_id
        self._received = received
        self._ended = ended
        self._failed = failed
        self._latest: dict[type, Any] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self.workers: list[Worker] = []
        """Those that get new rollouts."""
        self.every: set[Worker] = set()
        """Those, and others that run some rollouts apart."""

    async def open(self, count: int, first: Worker | None) -> None:
        """Starts workers, and waits until all can run rollouts.

        Args:
            first: One that is there already, and has loaded the environment.

        Raises:
            RefusedError: One could not load the environment.
            WorkerEndedError: One ended while it loaded it.
        """
        firsts = [first] if first is not None and not first.process_has_ended else []
        every = [*firsts, *[None] * (count - len(firsts))]
        self.workers = list(await asyncio.gather(*map(self.start, every)))

    async def start(self, worker: Worker | None = None) -> Worker:
        """Starts one more.

        Args:
            worker: One that is there already.

        Raises:
            RefusedError, WorkerEndedError: See `open`.
        """
        try:
            worker = worker or await self._launch()
        except OSError as error:
            raise WorkerEndedError(f"no worker could be started: {error}") from error
        worker.received, worker.failed = self._received, self._failed
        self.every.add(worker)
        worker.send(self._setup)
        for message in self._latest.values():
            worker.send(message)
        faults = await loaded(worker, worker.ready, self._env_id, self._slow)
        if faults:
            worker.is_leaving = True
            worker.kill()
            self.every.discard(worker)
            raise RefusedError([Fault(*fault) for fault in faults])
        if worker.process_has_ended:
            self.every.discard(worker)
            raise await ended_at_load(worker, self._env_id)
        task = asyncio.create_task(self._watch(worker))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        return worker

    async def start_another(self) -> Worker:
        """Starts one more of a run that has begun.

        The environment was loaded before, so where loading ends a worker now (somebody kills it,
        the machine has no memory just then) it is tried again.

        Raises:
            RefusedError, WorkerEndedError: See `open`.
        """
        for _ in range(MOST_LOADS - 1):
            with suppress(WorkerEndedError):
                return await self.start()
        return await self.start()

    async def _watch(self, worker: Worker) -> None:
        how = await worker.lost
        self.every.discard(worker)
        if not worker.is_leaving:
            self._ended(worker, how)

    async def replace(self, worker: Worker) -> Worker:
        """Replaces one that has ended.

        Raises:
            RefusedError, WorkerEndedError: See `open`.
        """
        new = await self.start_another()
        if worker in self.workers:
            self.workers[self.workers.index(worker)] = new
        return new

    def least_busy(self) -> Worker:
        """The one that has the fewest rollouts; among very many, of some that are drawn."""
        few = len(self.workers) <= LOOKED_AT
        some = self.workers if few else random.choices(self.workers, k=LOOKED_AT)
        return min(some, key=lambda one: len(one.rows))

    def send_all(self, message: Any) -> None:
        """Sends a message to all, also to those that are started later."""
        if isinstance(message, to_worker.MoveLog):
            self._setup = replace(self._setup, log=message.log)
        else:
            self._latest[type(message)] = message
        for worker in self.every:
            worker.send(message)

    def kill(self) -> None:
        """Kills all: one whose interpreter is held does not notice that its engine ends."""
        for worker in [*self.every]:
            worker.kill()

    async def close(self) -> None:
        """Has all tear their environments down and end; kills those that do not."""
        workers = [*self.every]
        for worker in workers:
            if worker.ready.done():
                worker.leave()
            else:  # it has nothing to tear down
                worker.kill()
        if workers:
            await asyncio.wait([one.lost for one in workers], timeout=LEAVES_WITHIN_S)
        for worker in workers:
            if not worker.lost.done():
                worker.kill()
        if workers:
            await asyncio.wait([one.lost for one in workers], timeout=1.0)


def worker_setup(
    parts: EngineParts, clients: Iterable[ClientConfig], *, shares_scoring: bool
) -> to_worker.Setup:
    """The first message to a worker.

    Args:
        clients: The settings of the run's clients, one for each endpoint.
        shares_scoring: Slots for scoring are shared with other runs.
    """
    prepared, plan = parts.prepared, parts.prepared.plan
    own = plan.max_concurrent_generation > 0 or plan.max_concurrent_scoring > 0
    return to_worker.Setup(
        plan=plan.model_dump_json().encode(),
        clients=[config.model_dump_json().encode() for config in clients],
        secrets=key_of(plan),
        log=str(prepared.run.log),
        grouped=prepared.grouped,
        limits_scoring=own or shares_scoring,
        has_budget=parts.guard is not None,
        code=prepared.code_number,
    )

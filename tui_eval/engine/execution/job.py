"""The job of an engine: a run, alone or one of a suite's.

A session needs some things only where its engine is a process of its own: a heartbeat, a garbage
collector that stays out of the way. They are here, so that a program that calls `evaluate` gets
none of them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tui_eval.commands import Command
from tui_eval.config.plan import RunPlan
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.session import Session
from tui_eval.engine.setup.preflight import Preflight
from tui_eval.engine.setup.prepare import client_config, key_of, prepare
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import Event, RolloutFinished, RunFinished, RunStarted
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.logging.run_log import print_to_log, set_up_logging
from tui_eval.worker.memory import tune_memory
from tui_eval.worker.replicas import ClientElsewhere, Replicas

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger("tui_eval.engine")

CANCELS_WITHIN_S = 1.0
LISTENERS_READ_WITHIN_S = 1.0
BEAT_TIMEOUT_S = 5.0
BEATS_ANSWERED_WITHIN_S = 0.5
"""How long the end of a run waits for answers to beats."""


class Heartbeat:
    """Beats at every finished group, or at every rollout where rollouts are scored one by one.

    A beat while one is in flight is dropped. Any answer will do; faults are logged and never stop
    the run. With `sends_status` there is one more beat at the start and one at the end,
    with `status=started`, `finished`, `interrupted` or `failed` in the query; these are not
    dropped. Use it as an asynchronous context manager.

    Args:
        url: Target of the beats; empty for none.
    """

    def __init__(self, url: str, prepared: Prepared, *, sends_status: bool = False) -> None:
        examples = prepared.examples
        self._url = url
        self._sends_status = sends_status
        self._example_of = examples.example
        self._alone = prepared.plan.independent_scoring
        self._left = [examples.size(example) for example in range(len(examples))] if url else []
        for event in prepared.done if url else ():
            self._left[examples.example(event.row)] -= 1
        self._session: aiohttp.ClientSession | None = None
        self._in_flight: asyncio.Task[None] | None = None
        self._farewells: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Heartbeat:
        if self._url:
            import aiohttp

            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=BEAT_TIMEOUT_S)
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        waiting = [*self._farewells, *([self._in_flight] if self._in_flight else [])]
        if waiting:
            await asyncio.wait(waiting, timeout=BEATS_ANSWERED_WITHIN_S)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def handle(self, event: Event) -> None:
        """Takes in an event of the run."""
        if self._session is None:
            return
        if isinstance(event, RolloutFinished):
            example = self._example_of(event.row)
            self._left[example] -= 1
            is_due = self._alone or self._left[example] <= 0
            if is_due and (self._in_flight is None or self._in_flight.done()):
                self._in_flight = asyncio.create_task(self._get())
        elif self._sends_status and isinstance(event, (RunStarted, RunFinished)):
            status = event.status if isinstance(event, RunFinished) else "started"
            self._farewells.append(asyncio.create_task(self._get(status)))

    async def _get(self, status: str = "") -> None:
        from yarl import URL

        assert self._session is not None, "handle looks before it beats"
        try:
            url = URL(self._url)
            if status:
                url = url.update_query(status=status)
            async with self._session.get(url) as answer:
                await answer.read()
        except Exception as error:
            log.warning("heartbeat failed: %s: %s", type(error).__name__, error)


class Job(Protocol):
    """The work of an engine: a run alone, or a suite."""

    def handle(self, command: Command) -> None:
        """Handles a listener's command."""

    def stop(self) -> None:
        """Ends it early and resumably."""

    async def run(self) -> RunFinished:
        """Works through it."""

    def emergency_close(self) -> int:
        """Called from another thread while the loop is held; returns the exit code."""

    def finished(self) -> int:
        """Rollouts that have a row on disk."""

    def worker_pids(self) -> list[int]:
        """Processes that run its rollouts."""

    def hubs(self) -> list[Hub]:
        """Hubs beside the engine's own."""


class RunJob(Session):
    """A session in an engine's process, alone or as one of several: with notices and heartbeat."""

    async def run(self) -> RunFinished:
        """Works through the run with its heartbeat: see `Session.run`."""
        plan = self._plan
        for notice in self._prepared.notices:
            self._hub.notice(notice.level, notice.text)
        url, sends_status = plan.heartbeat_url or "", plan.heartbeat_status
        async with Heartbeat(url, self._prepared, sends_status=sends_status) as heartbeat:
            self._hub.on_event = heartbeat.handle
            return await super().run()

    def finished(self) -> int:
        """Rollouts that have a row on disk."""
        return self._hub.state.finished

    def worker_pids(self) -> list[int]:
        """Processes that run its rollouts."""
        return [one.pid for one in self._workers.pool.every] if self._workers is not None else []

    def hubs(self) -> list[Hub]:
        """Hubs beside the engine's own."""
        return []


async def let_listeners_read(hub: Hub) -> None:
    """Waits until listeners have read every event, a second at most."""
    deadline = time.monotonic() + LISTENERS_READ_WITHIN_S
    while time.monotonic() < deadline and not all(one.has_all for one in hub.listeners):
        hub.flush()  # what did not fit before goes out as soon as it does
        await asyncio.sleep(0.01)


def open_alone(found: Preflight, hub: Hub, socket: str, giving_up: Callable[[], None]) -> RunJob:
    """Prepares a run that has the process and the engine's hub for itself, and opens its files.

    Args:
        socket: Path of the engine's socket.
        giving_up: Called once where the run is to end early.

    Raises:
        RefusedError: See `prepare`.
        OSError: Its files cannot be written.
    """
    checked, again = found.checked.pop(0), found.draft.request.again
    with checked.opened.closed_on_error():
        prepared = prepare(checked, socket, keep_errors=found.keeps_errors, again=again)
    prepared.notices[:0] = found.notices
    redact = Redactor(key_of(prepared.plan))
    hub.redact = redact
    hub.path = str(prepared.run.path)
    print_to_log(prepared.run.log, redact)
    set_up_logging(prepared.plan.verbose, [prepared.plan.env_id])
    host = Host(
        True,
        CANCELS_WITHIN_S,
        giving_up=giving_up,
        loaded=tune_memory,
        moved=lambda run: print_to_log(run.log, redact),
    )
    return RunJob(hub, prepared, redact, replicas_of(prepared.plan), host)


def replicas_of(plan: RunPlan) -> Replicas:
    """The clients of a run that has the process for itself; its workers make them."""
    return Replicas([client_config(plan)], ClientElsewhere)

"""What an engine works on, one run or several, and what surrounds a session: notices, heartbeat.

The process, its socket and its signals need not know whether there is one run or a suite: both are
a `Job`. What a session needs only where its engine is a process of its own (a heartbeat, a garbage
collector that stays out of the way) is here, so that a program that calls `evaluate` gets none of
it.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Protocol

from tui_eval import clock
from tui_eval.commands import Command
from tui_eval.engine.execution.heartbeat import Heartbeat
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.replicas import Replicas
from tui_eval.engine.execution.session import Session
from tui_eval.engine.logging.run_log import print_to_log, set_up_logging
from tui_eval.engine.setup.prepare import client_config, key_of
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import Noticed, RunFinished
from tui_eval.runs.redaction import Redactor

CANCELS_WITHIN_S = 1.0
LISTENERS_READ_WITHIN_S = 1.0
COLLECTED_AFTER = 100_000
"""New objects between two garbage collections: more than rollouts that begin at once make."""


class Job(Protocol):
    """What an engine works on: one run, or several."""

    async def run(self) -> int:
        """Works through it; returns the exit code."""

    def stop(self) -> None:
        """Ends it early and resumably."""

    def handle(self, command: Command) -> None:
        """Does what a listener asks for."""

    def emergency_close(self) -> int:
        """Called from another thread while the loop is held: leaves the files whole.

        Returns:
            The exit code.
        """

    def finished(self) -> int:
        """Rollouts that have a row on disk."""

    def hubs(self) -> list[Hub]:
        """The hubs of its runs, where they are not the engine's own."""


async def run_session(session: Session, hub: Hub, prepared: Prepared) -> RunFinished:
    """Works a session through with its heartbeat."""
    plan = prepared.plan
    for notice in prepared.notices:
        hub.publish(Noticed(0, clock.now(), notice.level, notice.text))
    url, sends_status = plan.heartbeat_url or "", plan.heartbeat_status
    async with Heartbeat(url, prepared, sends_status=sends_status) as heartbeat:
        hub.on_event = heartbeat.handle
        return await session.run()


async def let_listeners_read(hub: Hub) -> None:
    """Waits until listeners have all that was reported, a second at most."""
    deadline = time.monotonic() + LISTENERS_READ_WITHIN_S
    while time.monotonic() < deadline and not all(one.has_all for one in hub.listeners):
        hub.flush()  # what did not fit before goes out as soon as it does
        await asyncio.sleep(0.01)


def spare_collector() -> None:
    """Leaves out of garbage collections what stays to the end, and has fewer of them.

    Looking through modules and dataset in every full collection takes a quarter of the engine's
    CPU time, and a tenth of a second each time; Python's usual seven hundred new objects between
    collections are what one rollout makes, and take another tenth. Until now there were none:
    what is loaded stays.
    """
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
    gc.enable()


class OneRun:
    """See `Job`.

    Args:
        giving_up: Called once where the run is to end early.
    """

    def __init__(self, prepared: Prepared, hub: Hub, giving_up: Callable[[], None]) -> None:
        """Opens the run's files.

        Raises:
            OSError: They cannot be written.
        """
        redact = Redactor(key_of(prepared.plan))
        hub.redact = redact
        hub.path = str(prepared.run.path)
        print_to_log(prepared.run.log, redact)
        set_up_logging(prepared.plan.verbose, [prepared.plan.env_id])
        host = Host(True, CANCELS_WITHIN_S, giving_up=giving_up, loaded=spare_collector)
        replicas = Replicas([client_config(prepared.plan)])
        self._hub = hub
        self._prepared = prepared
        self._session = Session(hub, prepared, redact, replicas, host)

    async def run(self) -> int:
        """See `Job.run`."""
        return (await run_session(self._session, self._hub, self._prepared)).exit_code

    def stop(self) -> None:
        """See `Job.stop`."""
        self._session.stop()

    def handle(self, command: Command) -> None:
        """See `Job.handle`."""
        self._session.handle(command)

    def emergency_close(self) -> int:
        """See `Job.emergency_close`."""
        return self._session.emergency_close()

    def finished(self) -> int:
        """See `Job.finished`."""
        return self._hub.state.finished

    def hubs(self) -> list[Hub]:
        """See `Job.hubs`."""
        return []

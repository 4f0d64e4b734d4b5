"""A run as the job of an engine: alone, or one of a suite's, with what surrounds its session.

What a session needs only where its engine is a process of its own (a heartbeat, a garbage
collector that stays out of the way) is here, so that a program that calls `evaluate` gets none of
it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from tui_eval import clock
from tui_eval.config.plan import RunPlan
from tui_eval.engine.execution.heartbeat import Heartbeat
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.session import Session
from tui_eval.engine.setup.prepare import client_config, key_of
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import Noticed, RunFinished
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.collector import spare_collector
from tui_eval.worker.logging.run_log import print_to_log, set_up_logging
from tui_eval.worker.replicas import ClientElsewhere, Replicas

CANCELS_WITHIN_S = 1.0
LISTENERS_READ_WITHIN_S = 1.0


class RunJob(Session):
    """A session in an engine's process, alone or as one of several: with notices and heartbeat."""

    async def run(self) -> RunFinished:
        """Works through the run with its heartbeat: see `Session.run`."""
        plan = self._plan
        for notice in self._prepared.notices:
            self._hub.publish(Noticed(0, clock.now(), notice.level, notice.text))
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
    """Waits until listeners have all that was reported, a second at most."""
    deadline = time.monotonic() + LISTENERS_READ_WITHIN_S
    while time.monotonic() < deadline and not all(one.has_all for one in hub.listeners):
        hub.flush()  # what did not fit before goes out as soon as it does
        await asyncio.sleep(0.01)


def open_alone(prepared: Prepared, hub: Hub, giving_up: Callable[[], None]) -> RunJob:
    """Opens the files of a run that has the process and the engine's hub for itself.

    Args:
        giving_up: Called once where the run is to end early.

    Raises:
        OSError: They cannot be written.
    """
    redact = Redactor(key_of(prepared.plan))
    hub.redact = redact
    hub.path = str(prepared.run.path)
    print_to_log(prepared.run.log, redact)
    set_up_logging(prepared.plan.verbose, [prepared.plan.env_id])
    host = Host(
        True,
        CANCELS_WITHIN_S,
        giving_up=giving_up,
        loaded=spare_collector,
        moved=lambda run: print_to_log(run.log, redact),
    )
    return RunJob(hub, prepared, redact, replicas_of(prepared.plan), host)


def replicas_of(plan: RunPlan) -> Replicas:
    """The clients of a run that has the process for itself; its workers make them."""
    return Replicas([client_config(plan)], ClientElsewhere)

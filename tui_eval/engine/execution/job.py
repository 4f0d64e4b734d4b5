"""The job of an engine: a run alone, or a suite of several.

A session needs some things only where its engine is a process of its own: a heartbeat, a garbage
collector that stays out of the way. They are here, so that a program that calls `evaluate` gets
none of them.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Protocol

from tui_eval.commands import Command
from tui_eval.engine.execution.heartbeat import Heartbeat
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.session import Session
from tui_eval.engine.limits.limits import Limits
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import RunFinished
from tui_eval.worker.memory import tune_memory
from tui_eval.worker.replicas import Replicas

own_process = partial(Host, True, 1.0, loaded=tune_memory)
"""The host of a run in an engine's process; rollouts in flight get a second for their cleanup."""
LISTENERS_READ_WITHIN_S = 1.0


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

    def __init__(
        self, hub: Hub, prepared: Prepared, replicas: Replicas, host: Host, limits: Limits
    ) -> None:
        """Opens the run's log and files.

        Raises:
            OSError: They cannot be written; its lock is released.
        """
        hub.path = str(prepared.run.path)
        try:
            host.open_log(prepared.run.log)
            super().__init__(hub, prepared, hub.redact, replicas, host, limits)
        except OSError:
            prepared.lock.release()
            raise

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

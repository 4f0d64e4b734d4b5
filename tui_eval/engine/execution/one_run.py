"""The one run of an engine: its listeners are the engine's."""

from __future__ import annotations

from collections.abc import Callable

from tui_eval.commands import Command
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.job import CANCELS_WITHIN_S, run_session, spare_collector
from tui_eval.engine.execution.replicas import Replicas
from tui_eval.engine.execution.session import Session
from tui_eval.engine.logging.run_log import print_to_log, set_up_logging
from tui_eval.engine.setup.prepare import client_config, key_of
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.runs.redaction import Redactor


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

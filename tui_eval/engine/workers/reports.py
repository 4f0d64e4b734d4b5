"""Messages of workers: rows are written, events published, requests granted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tui_eval.engine.transport.worker import Worker
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.group_homes import GroupHomes
from tui_eval.engine.workers.lease import Lease, RemoteRollout
from tui_eval.worker import to_engine, to_worker


class Reports:
    """Handles the messages of workers.

    Args:
        row_written: Called once the row of a rollout is written.
        ended: Called where a rollout needs nothing more of its worker at present.
        ignores_end: Called where a call in a worker does not end though it was cancelled.
    """

    groups: GroupHomes
    leases: dict[int, Lease]

    def __init__(
        self,
        parts: EngineParts,
        row_written: Callable[[Worker, int], None],
        ended: Callable[[Worker, to_engine.Ended], None],
        ignores_end: Callable[[Worker, to_engine.IgnoresEnd], None],
    ) -> None:
        self._parts = parts
        self._row_written = row_written
        self._releases: set[asyncio.Task[None]] = set()
        self._do: dict[type, Callable[[Worker, Any], None]] = {
            to_engine.Hello: lambda worker, message: None,
            to_engine.Ready: lambda worker, message: None,
            to_engine.Staged: self._staged,
            to_engine.Messages: self._messages,
            to_engine.KeepAnswer: self._keep_answer,
            to_engine.KeepGenerated: lambda worker, one: parts.journal.add(one.row, one.line),
            to_engine.Forget: lambda worker, one: parts.journal.forget(one.row),
            to_engine.Row: self._row,
            to_engine.Request: self._requested,
            to_engine.Withdraw: self._withdrawn,
            to_engine.Release: self._released,
            to_engine.Answered: self._answered,
            to_engine.Refused: self._refused,
            to_engine.IgnoresEnd: ignores_end,
            to_engine.Ended: ended,
            to_engine.GroupMoved: lambda worker, one: self.groups.moved(
                worker, one.example, one.waits
            ),
            to_engine.Forgot: lambda worker, one: self.groups.forgot(one.number),
            to_engine.ColumnsFound: lambda worker, one: parts.columns.join(one.unseen, one.keys),
            to_engine.Warned: lambda worker, one: parts.warn(one.text),
            to_engine.ReplicaFailed: lambda worker, one: parts.replica_failed(
                one.endpoint, one.why
            ),
            to_engine.Left: lambda worker, message: None,
        }

    def take(self, worker: Worker, message: Any) -> None:
        """Handles one message of a worker."""
        self._do[type(message)](worker, message)

    def _staged(self, worker: Worker, message: to_engine.Staged) -> None:
        hub = self._parts.hub
        for event in message.events:
            rollout = hub.active.get(event.row)
            if isinstance(rollout, RemoteRollout) and event.row in worker.rows:
                rollout.reported, rollout.worker = event, worker.pid
                hub.mark_changed(rollout)

    def _messages(self, worker: Worker, message: to_engine.Messages) -> None:
        for event in message.events:
            self._parts.hub.publish_to_watchers(event)

    def _keep_answer(self, worker: Worker, message: to_engine.KeepAnswer) -> None:
        granted = to_worker.Granted(message.number)
        self._parts.journal.keep_answer(message.row, message.line, lambda: worker.send(granted))

    def _row(self, worker: Worker, message: to_engine.Row) -> None:
        if message.row not in worker.rows:
            return  # another one has it now
        rollout = self._parts.hub.active.get(message.row)
        if isinstance(rollout, RemoteRollout):
            rollout.is_over = True
        self._parts.rows.write(message.row, message.number, message.line)
        if self._parts.prepared.grouped:
            self.groups.written(message.row, message.line)
        self._row_written(worker, message.row)

    def _requested(self, worker: Worker, message: to_engine.Request) -> None:
        lease = self.leases.get(message.row)
        if lease is not None:
            task = asyncio.create_task(self._grant(worker, lease, message))
            lease.requests[message.number] = task

    async def _grant(self, worker: Worker, lease: Lease, message: to_engine.Request) -> None:
        limits, guard = self._parts.limits, self._parts.guard
        if message.what == "slots":
            await lease.come_back()
        elif message.what == "scoring":
            await lease.begin_scoring(limits, message.count)
        elif message.what == "in_flight":
            await limits.begin_scoring(lease.held)
        elif message.what == "budget" and guard is not None:
            await lease.reserve(guard, message.number, message.count)
        lease.requests.pop(message.number, None)
        worker.send(to_worker.Granted(message.number))

    def _withdrawn(self, worker: Worker, message: to_engine.Withdraw) -> None:
        lease = self.leases.get(message.row)
        if lease is not None:
            lease.withdraw(self._parts.guard, message.number)

    def _released(self, worker: Worker, message: to_engine.Release) -> None:
        lease = self.leases.get(message.row)
        if lease is None:
            return
        if message.what == "generated":
            self._parts.limits.generated(lease.held)
        elif message.what == "all":
            lease.held.release()
        elif message.what == "budget":
            lease.call_over(self._parts.guard, message.count)
        else:
            self._start(self._give_back(lease, message.what))

    async def _give_back(self, lease: Lease, what: str) -> None:
        if what == "lent":
            await lease.lend()
        elif what == "unlent":
            await lease.stay_away()
        elif what == "scored":
            await lease.end_scoring()

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)

    def _answered(self, worker: Worker, message: to_engine.Answered) -> None:
        for endpoint, requested_at, answered_at in message.requests:
            self._parts.limits.answered(endpoint, requested_at, answered_at)

    def _refused(self, worker: Worker, message: to_engine.Refused) -> None:
        lease = self.leases.get(message.row)
        if lease is not None:
            is_paced = message.is_paced
            lease.held.refuse(message.requested_at, message.waits, is_paced=is_paced)

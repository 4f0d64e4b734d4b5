"""Assignments of rollouts to workers, and the messages that make them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.worker import Worker
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.group_homes import GroupHomes
from tui_eval.engine.workers.lease import Lease, RemoteRollout
from tui_eval.engine.workers.pool import Pool
from tui_eval.runs.journal_records import InFlight
from tui_eval.runs.scan import decode_row
from tui_eval.token_kinds import Tokens
from tui_eval.worker import to_worker
from tui_eval.worker.end_causes import ITSELF


class Assignments:
    """Leases rollouts to workers.

    `generated` are rollouts that wait until all are generated. `lost_tokens` are those of rows that
    were taken back and of attempts of earlier sessions, by row. Until their rows are written,
    `cancelled` has rollouts that somebody ended, and `given_up` those that ended their workers.
    """

    def __init__(self, parts: EngineParts, pool: Pool, groups: GroupHomes) -> None:
        self._parts = parts
        self._pool = pool
        self._groups = groups
        self._examples = parts.prepared.examples
        self.leases: dict[int, Lease] = {}
        self.generated: deque[int] = deque()
        self.lost_tokens = dict(parts.prepared.lost)
        self.cancelled: set[int] = set()
        self.given_up: dict[int, to_worker.GiveUp] = {}

    def lease(self, row: int, held: Held) -> Lease:
        """Makes a new lease of a rollout, which stays with its worker."""
        loop = asyncio.get_running_loop()
        before = self.leases.get(row)
        lease = self.leases[row] = Lease(row, held, loop.time(), loop.create_future())
        lease.worker = None if before is None else before.worker
        if row not in self._parts.hub.active:
            number, lost = self._examples.number(row), self.lost_tokens_of(row)
            rollout = self._parts.hub.active[row] = RemoteRollout(row, number, lost)
            self._parts.hub.mark_changed(rollout)
        return lease

    def worker_for(self, row: int) -> Worker:
        """The worker that is to run a rollout: that of its group, where it has one."""
        if self._parts.prepared.grouped:
            return self._groups.home(row)
        return self._pool.least_busy()

    def worker_of(self, row: int) -> Worker | None:
        """The worker that has a rollout; None while that is being replaced."""
        lease = self.leases.get(row)
        worker = None if lease is None else lease.worker
        return worker if worker in self._pool.every and row in worker.rows else None

    def give(self, worker: Worker, row: int, message: Any) -> None:
        """Assigns a rollout to a worker, until its row is written."""
        worker.rows.add(row)
        self.leases[row].worker = worker
        worker.send(message)

    def restore(
        self, row: int, worker: Worker, record: Mapping[str, Any], answers: list[dict[str, Any]]
    ) -> None:
        """Assigns a generated rollout to a worker."""
        lost = self.lost_tokens_of(row)
        self.give(worker, row, to_worker.Restore(row, dict(record), answers, lost))

    def run(self, row: int, worker: Worker, held: Held, answers: list[dict[str, Any]]) -> None:
        """Has a worker run a rollout from its input, with its recorded answers."""
        lost = self.lost_tokens_of(row)
        self.give(worker, row, to_worker.Run(row, held.endpoint, answers, lost))

    def write_cancelled(self, row: int, worker: Worker, records: list[dict[str, Any]]) -> None:
        """Has a worker write the row of a rollout that somebody cancelled."""
        lost = self.lost_tokens_of(row)
        self.give_up(worker, to_worker.GiveUp(row, 1, "", "", ITSELF, lost, records))

    def give_up(self, worker: Worker, message: to_worker.GiveUp) -> None:
        """Has a worker write the row of a rollout that ended early."""
        row = message.row
        if self.leases[row].is_done.done() or row in self.generated:
            self._parts.start(self.renew_lease(row), Held())
        self.give(worker, row, message)

    def lost_tokens_of(self, row: int) -> Tokens:
        """Tokens of its earlier attempts."""
        return tuple(self.lost_tokens.get(row, (0, 0)))

    def done(self, lease: Lease) -> asyncio.Future[None]:
        """The future of a lease: done once its rollout needs nothing more at present."""
        lease.is_done.add_done_callback(lambda done: self._let_go(lease))
        return lease.is_done

    def _let_go(self, lease: Lease) -> None:
        lease.give_up_requests(self._parts.guard)
        if lease.has_more_slots:
            self._parts.start(lease.return_slots(), lease.held)
        else:
            lease.held.release()  # it may have taken slots to score its group

    def renew_lease(self, row: int) -> asyncio.Future[None]:
        """Makes a new lease of a rollout that waits and ends early; see `done`.

        The rollout may be the last one of its group, which is scored under this lease then.
        """
        if row in self.generated:
            self.generated.remove(row)
        lease = self.lease(row, Held())
        lease.is_scored = True
        return self.done(lease)

    def row_written(self, worker: Worker, row: int) -> None:
        """Notes that a rollout has its row."""
        worker.rows.discard(row)
        lease = self.leases.get(row)
        if lease is not None and lease.is_done.done():  # it was scored with its group, by another
            self.finished(lease)
        self.lost_tokens.pop(row, None)
        self.cancelled.discard(row)
        self.given_up.pop(row, None)

    def finished(self, lease: Lease) -> None:
        """Ends the lease of a rollout that has its row and needs no worker any more."""
        del self.leases[lease.row]
        if not lease.is_done.done():
            lease.is_done.set_result(None)

    def in_flight(self, row: int) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """A rollout's records in the journal: itself where it is generated, and answers."""
        found = InFlight()
        for line in self._parts.journal.lines(row):
            found.add(decode_row(line))
        return found.generated.get(row), found.answers.get(row, [])

    def records(self, row: int) -> list[dict[str, Any]]:
        """These records as a list."""
        generated, answers = self.in_flight(row)
        return answers if generated is None else [generated, *answers]

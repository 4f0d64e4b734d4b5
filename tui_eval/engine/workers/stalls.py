"""Workers that stand still: reported, and ended where a rollout's time is up meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from tui_eval.config.plan import RunPlan
from tui_eval.engine.transport.worker import HELD_AFTER_S, Verdict, Worker
from tui_eval.engine.workers.lease import Lease
from tui_eval.engine.workers.pool import Pool
from tui_eval.fold.error_place import place_of
from tui_eval.worker.end_causes import CALL_TIMEOUT, TIMEOUT
from tui_eval.worker.vital_signs import NOBODY, LastCall

POLL_INTERVAL_S = 0.25
REPORTED_AFTER_S = 30.0
NOT_COUNTED_AFTER_S = 0.3
"""Seconds without a turn of its loop after which a worker stands still; a busy loop takes less."""


class Stalls:
    """Watches the workers of a run, four times a second.

    Args:
        lease_of: The lease of a row, if it has one.
        name: Calls a rollout by its example and number.
        warn: Gets sentences for people.
        changed: Called where a worker comes, goes, stands still or moves again.
    """

    def __init__(
        self,
        pool: Pool,
        plan: RunPlan,
        lease_of: Callable[[int], Lease | None],
        name: Callable[[int], str],
        warn: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._pool = pool
        self._env_id = plan.env_id
        self._timeout = plan.timeout
        self._call_timeout = plan.call_timeout
        self._lease_of = lease_of
        self._name = name
        self._warn = warn
        self._changed = changed
        self._seen: set[tuple[int, bool, str]] = set()

    async def look(self) -> None:
        """Watches until it is cancelled."""
        loop = asyncio.get_running_loop()
        looked = awake_since = loop.time()
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            if loop.time() - looked > HELD_AFTER_S:  # it was stopped, and so were they
                awake_since = loop.time()
            for worker in [*self._pool.every]:
                still = min(worker.still_for(), loop.time() - awake_since)
                self._count(worker, still)
                if still > HELD_AFTER_S:
                    await self._held(worker, still)
                else:
                    worker.is_reported, worker.held_at = False, ""
            self._report()
            looked = loop.time()

    def _count(self, worker: Worker, still: float) -> None:
        """Leaves time in which one rollout's code held the worker out of the others' limits."""
        before, row = worker.stood
        if still < before:
            for lease in filter(None, map(self._lease_of, worker.rows - {row})):
                lease.began_at += before
        worker.stood = (
            (still, worker.last_called().row) if still > NOT_COUNTED_AFTER_S else (0.0, NOBODY)
        )

    def _report(self) -> None:
        every = self._pool.every
        seen = {(one.pid, one.still_for() > HELD_AFTER_S, one.held_at) for one in every}
        if seen != self._seen:
            self._seen = seen
            self._changed()

    async def _held(self, worker: Worker, still: float) -> None:
        call = worker.last_called()
        row = call.row
        limit = self._limit_past(call, still)
        if limit is not None:
            cause, seconds = limit
            is_certain = call.is_running or (cause == CALL_TIMEOUT and len(worker.rows) == 1)
            verdict = Verdict(call, cause, f"{seconds:g} s", "", is_certain)
            worker.verdict = verdict  # before `stack`, whose signal may end it
            worker.held_at = await self._place(worker)
            worker.kill(replace(verdict, place=worker.held_at))
        elif still > REPORTED_AFTER_S and not worker.is_reported:
            worker.is_reported = True
            worker.held_at = await self._place(worker)
            whose = "" if row == NOBODY else f" in the code of {self._name(row)}"
            what = "--call-timeout ends what holds it" if not self._call_timeout else ""
            text = f"A worker has stood still for {still:.0f} s{whose}{worker.held_at}. {what}"
            self._warn(text.rstrip())

    def _limit_past(self, call: LastCall, still: float) -> tuple[str, float] | None:
        """The limit that a rollout's code passed by holding its worker for so long."""
        if self._call_timeout is not None and still > self._call_timeout:
            return CALL_TIMEOUT, self._call_timeout
        lease = self._lease_of(call.row)
        if self._timeout is None:
            return None
        if call.row == NOBODY:  # code that another task or thread of a rollout runs
            return (TIMEOUT, self._timeout) if still > self._timeout else None
        if lease is None or lease.is_done.done():
            return None
        is_scored = call.error_class in ("scoring", "judge")  # whose time does not count otherwise
        taken = still if is_scored else asyncio.get_running_loop().time() - lease.began_at
        return (TIMEOUT, self._timeout) if taken > self._timeout else None

    async def _place(self, worker: Worker) -> str:
        """The place where people's code holds a worker, in brackets; empty where not known."""
        place = place_of(await worker.stack(), self._env_id)
        return f" ({place})" if place else ""

"""Replacement of workers that have ended: another one resumes their rollouts from the journal.

The rollout whose code it called last is run in a worker of its own then; where that one ends as
well, its row says so, and the run continues: it is one of many. It may have been another one, whose
code runs in a thread meanwhile: those that were in a worker when it ended twice are run apart, in
two halves, so that of a thousand it takes ten workers to find one. Where one after the other ends
its workers, the code or the machine is at fault, not a rollout, and each row costs two processes
and two loads of the environment: then the run is ended.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.worker import Verdict, Worker
from tui_eval.engine.workers.assignments import Assignments
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.group_homes import GroupHomes
from tui_eval.engine.workers.lease import RemoteRollout
from tui_eval.engine.workers.pool import Pool
from tui_eval.runs.journal_records import tokens_of_answer
from tui_eval.token_kinds import plus
from tui_eval.worker import to_worker
from tui_eval.worker.end_causes import ITSELF, MEMORY
from tui_eval.worker.vital_signs import NOBODY, LastCall

GIVEN_UP_WITHIN_S = 10.0
MOST_OF_NOBODY = 3
"""Number of workers that may end although none of them ran the code of a rollout."""
MOST_CULPRITS = 8
"""Number of rollouts in a row that may end their workers. Where every twentieth does, that happens
once in 10^10 rollouts; where each does, it is noticed after sixteen workers."""
MOST_APART = 8
"""Number of workers that may run rollouts apart before further suspects do: each takes memory,
and somebody may kill them for that."""
_SCORED = ("scoring", "judge")


class WorkerDeaths:
    """Counts deaths of workers, and the rollouts in between that ended none."""

    def __init__(self) -> None:
        self._of: Counter[int] = Counter()
        self._in_flight: Counter[int] = Counter()
        """Unexplained ends of workers that each rollout was in."""
        self._beside: dict[int, Sequence[int]] = {}
        """Those that were in it beside the one whose code it called last."""
        self._culprits: set[int] = set()
        self._generating = 0
        """Culprits since a rollout was last generated."""
        self._scored = 0
        """Culprits in scoring since the last row."""

    def add(self, row: int) -> int:
        """Counts a worker that died in the code of this rollout; returns how many did."""
        self._of[row] += 1
        return self._of[row]

    def suspects(self, row: int, others: Sequence[int]) -> list[int]:
        """Counts others that were in a worker that died in the code of this rollout; returns those
        that were twice.
        """
        self._beside[row] = others
        self._in_flight.update(others)
        return [one for one in others if self._in_flight[one] > 1]

    def clear_suspects(self, row: int) -> None:
        """Notes that it was this rollout, and none of those that were beside it."""
        self._in_flight.subtract(self._beside.pop(row, ()))

    @property
    def of_nobody(self) -> int:
        """Number of workers that ended outside of a rollout's code since the last row."""
        return self._of[NOBODY]

    def add_culprit(self, row: int, error_class: str) -> None:
        """Counts a rollout that is given up.

        Args:
            error_class: Of its last call.
        """
        self._culprits.add(row)
        if error_class in _SCORED:
            self._scored += 1
        else:
            self._generating += 1

    @property
    def in_a_row(self) -> int:
        """Number of rollouts that ended their workers one after the other."""
        return max(self._generating, self._scored)

    @property
    def are_too_many(self) -> bool:
        """Whether too many rollouts in a row ended their workers."""
        return self.in_a_row >= MOST_CULPRITS

    def generated(self, row: int) -> None:
        """Notes that a rollout is generated."""
        if row in self._culprits:
            self._culprits.discard(row)
        else:
            self._generating = 0

    def written(self, row: int) -> None:
        """Notes that a rollout has its row."""
        for counted in (self._of, self._in_flight, self._beside):
            counted.pop(row, None)
        self._of.pop(NOBODY, None)
        if row not in self._culprits:
            self._generating = self._scored = 0


class Replacement:
    """Replaces workers that have ended.

    Args:
        name: Calls a rollout by its example and number.
    """

    def __init__(
        self,
        parts: EngineParts,
        pool: Pool,
        groups: GroupHomes,
        assigned: Assignments,
        name: Callable[[int], str],
    ) -> None:
        self._parts = parts
        self._pool = pool
        self._groups = groups
        self._assigned = assigned
        self._name = name
        self.deaths = WorkerDeaths()
        self._giving_up = asyncio.Lock()
        self._has_failed = False

    async def replace(self, worker: Worker, how: str) -> None:
        """Runs the rollouts of a worker that has ended elsewhere, from the journal."""
        call, verdict = worker.last_called(), worker.verdict
        if verdict is not None:
            how = verdict.why
            if verdict.call.row in worker.rows:
                call = verdict.call
        row = call.row
        if verdict is not None and verdict.call.row != row:
            verdict = None
        is_certain = verdict is not None and verdict.is_certain
        lease = self._assigned.leases.get(row)
        took_s = asyncio.get_running_loop().time() - lease.began_at if lease is not None else 0.0
        count = self.deaths.add(row)
        is_given_up = row != NOBODY and (count >= 2 or is_certain)
        self._report_end(how, row, len(worker.rows) - is_given_up)
        self._note_waits(worker)
        await self._let_go_of(worker)
        if self.deaths.of_nobody >= MOST_OF_NOBODY:
            self._parts.fail(f"{MOST_OF_NOBODY} workers ended one after the other: {how}", None)
            return
        new = None
        if worker in self._pool.workers:
            if (new := await self._started(self._pool.replace(worker))) is None:
                return
            self._groups.move(worker, new)
        others, worker.rows = sorted(worker.rows - {row}), set()
        apart = [] if is_given_up else self._halves(row, others)
        if is_given_up:
            self.deaths.clear_suspects(row)
            async with self._giving_up:  # else more have a row than end the run
                if not self._has_failed:  # before the others resume
                    await self._give_up(call, how, verdict, took_s)
        for one in sorted(set(others).difference(*apart)):
            self.again(one, new or self._assigned.worker_for(one))
        await asyncio.gather(*map(self._run_apart, apart))

    def _halves(self, row: int, others: Sequence[int]) -> list[list[int]]:
        """The rollouts that get workers of their own: the one whose code ran last, and suspects.

        Those of a group are scored together, so that suspects are only looked for before.
        """
        found = self.deaths.suspects(row, others)
        if len(self._pool.every) - len(self._pool.workers) >= MOST_APART:
            found = []
        elif self._parts.prepared.grouped:
            found = [one for one in found if self._assigned.in_flight(one)[0] is None]
        alone = [] if row == NOBODY else [row]
        return [rows for rows in (alone, found[::2], found[1::2]) if rows]

    async def _run_apart(self, rows: Sequence[int]) -> None:
        worker = await self._started(self._pool.start_another())
        if worker is not None:
            for row in rows:
                self.again(row, worker)

    async def _started(self, starting: Awaitable[Worker]) -> Worker | None:
        """Waits for a worker's start; None where that fails, which ends the run."""
        try:
            return await starting
        except Exception as error:
            self._parts.fail(str(error), error)
            return None

    def _note_waits(self, worker: Worker) -> None:
        """Reports that the rollouts of a worker wait for another one."""
        hub = self._parts.hub
        for row in worker.rows:
            rollout = hub.active.get(row)
            if isinstance(rollout, RemoteRollout):
                rollout.waits_for_worker()
                hub.mark_changed(rollout)

    async def _let_go_of(self, worker: Worker) -> None:
        leases = [one for one in self._assigned.leases.values() if one.worker is worker]
        for lease in leases:
            if lease.row not in worker.rows:
                self._assigned.finished(lease)
        for lease in leases:
            lease.give_up_requests(self._parts.guard)
            await lease.return_slots()

    def _report_end(self, how: str, row: int, again: int) -> None:
        whose = "" if row == NOBODY else f", last in the code of {self._name(row)}"
        rollouts = "rollout is" if again == 1 else "rollouts are"
        more = f". {again:,} {rollouts} run again" if again else ""
        self._parts.warn(f"A worker ended{whose}: {how}{more}")

    def again(self, row: int, worker: Worker) -> None:
        """Has another worker resume a rollout from the journal."""
        generated, answers = self._assigned.in_flight(row)
        lease = self._assigned.leases[row]
        if row in self._assigned.given_up:  # another one ended the worker that was to write its row
            self._assigned.give_up(worker, self._assigned.given_up[row])
            return
        if row in self._assigned.cancelled:
            self._assigned.write_cancelled(row, worker, self._assigned.records(row))
            return
        if generated is not None:
            has_slots = not lease.is_done.done()
            at_end = self._parts.prepared.plan.score_at_end and not lease.is_scored
            if at_end and has_slots and row not in self._assigned.generated:
                self._assigned.generated.append(row)
                lease.is_done.set_result(None)
            if not has_slots and row not in self._assigned.generated:
                lease = self._assigned.lease(row, Held())
                self._parts.start(self._assigned.done(lease), lease.held)
            self._assigned.restore(row, worker, generated, answers)
            if row not in self._assigned.generated:
                lease.is_scored = True
                worker.send(to_worker.Score(row, has_slots))
            return
        lease.began_at = asyncio.get_running_loop().time()
        self._assigned.run(row, worker, lease.held, answers)

    async def _give_up(
        self, call: LastCall, how: str, verdict: Verdict | None, took_s: float
    ) -> None:
        """Gives up a rollout that ended workers: its row says so, before others resume.

        Args:
            verdict: Why the engine ended the last one for it; None where it ended by itself.
            took_s: Seconds that its last attempt took.
        """
        row = call.row
        records = self._assigned.records(row)
        lost = self._assigned.lost_tokens_of(row)
        for record in records:
            if "judge" in record:  # whose tokens are in no row's own
                lost = plus(lost, tokens_of_answer(record))
        attempt = records[-1]["attempt"] if records else 1
        why = f"It ended its worker: {how}, twice"
        if verdict is not None:
            why = f"{how}, twice" if verdict.cause == MEMORY else how
        cause = ITSELF if verdict is None else verdict.cause
        if cause in (ITSELF, MEMORY):  # a limit of time is there to end them
            self.deaths.add_culprit(row, call.error_class)
        message = to_worker.GiveUp(
            row, attempt, call.error_class, why, cause, tuple(lost), records, took_s
        )
        self._assigned.given_up[row] = message
        self._assigned.give_up(self._assigned.worker_for(row), message)
        await asyncio.wait([self._assigned.leases[row].is_done], timeout=GIVEN_UP_WITHIN_S)
        others = self._parts.waiting() or self._assigned.leases.keys() - {row}
        if self.deaths.are_too_many and others:
            what = f"{self.deaths.in_a_row} rollouts in a row ended their workers"
            what += ", none finished between"
            self._has_failed = True
            self._parts.fail(f"{what}: {how}. Mend the environment, then resume the run", None)

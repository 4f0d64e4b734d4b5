"""Running errored rollouts again while the run is at work: a resume inside of it.

Every rollout has one row in results.jsonl, so the rows of those that run again are moved to
superseded.jsonl first, by the code that a resume moves them with. That replaces results.jsonl as a
whole, and the index after it:

1. The rollouts leave their groups, which wait for them again; groups that are complete are scored
   first. Which are is known once their workers have answered.
2. All events are published, so that the index has them, and rows that finish from now on are kept
   in memory.
3. A thread moves the lines. It reads the whole file: a second for every gigabyte or so, in which
   rollouts continue. It also makes members of groups that were complete ready to be compared with.
4. The writer continues with the new files, listeners receive `RowsTakenBack` and read the index
   again, rows that were held back are written, and the rollouts begin before all others.

Where the disk refuses the copy, nothing is moved: rows that were held back are written, and it is
tried again until there is room. The rollouts stay out of their groups meanwhile.

A crash between any two steps leaves a run that can be read and resumed: the lines are still there
or gone, each once, and an index that does not fit is made again. Rows that were held back are lost
as if they had not finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tui_eval import clock
from tui_eval.engine.execution.rollout_work import AtWork
from tui_eval.engine.setup.resume import repair_run, tokens_of_row
from tui_eval.events import RowsTakenBack
from tui_eval.runs.repair import Repaired
from tui_eval.runs.scan import decode_row

POLL_INTERVAL_S = 0.05
RETRIES_EVERY_S = 1.0


class Reruns:
    """Takes errored rows back and puts their rollouts first; one request after the other.

    `requested` are the rows of requests that are not done yet.

    Args:
        refused: Called where the disk refuses to move rows, once for each request; it is tried
            again until it does not.
    """

    def __init__(self, parts: AtWork, refused: Callable[[OSError, int], None]) -> None:
        self.requested: set[int] = set()
        self._prepared = parts.prepared
        self._hub = parts.hub
        self._schedule = parts.schedule
        self._rollouts = parts.rollouts
        self._rows = parts.files.rows
        self._writer = parts.files.writer
        self._refused = refused
        self._turn = asyncio.Lock()

    async def take_back(self, rows: set[int]) -> None:
        """Lets errored rollouts run again, once the disk has room for their rows elsewhere."""
        async with self._turn:
            if self._prepared.grouped:
                forgotten = [self._rollouts.groups.forget(row) for row in rows]
                if unknown := [one for one in forgotten if one is not None]:
                    await asyncio.wait(unknown)
            await self._groups_at_rest(rows)
            complete, is_refused = self._complete(rows), False
            while (error := await self._take_back(rows, complete)) is not None:
                if not is_refused:
                    self._refused(error, len(rows))
                is_refused = True
                await asyncio.sleep(RETRIES_EVERY_S)
            self.requested -= rows
            self._schedule.put_first(sorted(rows))

    async def _take_back(self, rows: set[int], complete: set[int]) -> OSError | None:
        """Takes errored rows back; nothing, and the error, where the disk refuses.

        Args:
            complete: See `_complete`.
        """
        while self._rows.is_held:  # the run is being saved elsewhere
            await asyncio.sleep(POLL_INTERVAL_S)
        self._hub.flush()
        self._rows.hold()
        moving = asyncio.create_task(asyncio.to_thread(self._move, rows, complete))
        try:
            await asyncio.shield(moving)
        except OSError as error:
            return error
        finally:
            if not moving.done():
                await asyncio.wait([moving])  # nobody may write before the thread has done so
            if moving.exception() is None:
                repaired, members = moving.result()
                self._writer.reopen()
                self._publish(repaired)
                for row, values in members.items():
                    self._rollouts.groups.add_saved(row, values)
            self._rows.release()
        return None

    async def _groups_at_rest(self, rows: set[int]) -> None:
        """Waits while the group of one of these is being scored without it."""
        while any(self._is_scored(example) for example in self._examples_of(rows)):
            await asyncio.sleep(POLL_INTERVAL_S)
            self._hub.flush()

    def _examples_of(self, rows: set[int]) -> set[int]:
        examples = self._prepared.examples
        return {examples.example(row) for row in rows} if self._prepared.grouped else set()

    def _is_scored(self, example: int) -> bool:
        return example not in self._rollouts.groups and any(
            row in self._hub.active for row in self._prepared.examples.rows(example)
        )

    def _complete(self, rows: set[int]) -> set[int]:
        """The members on disk of groups that were complete: they are compared with once more."""
        groups = self._rollouts.groups
        examples = {one for one in self._examples_of(rows) if one not in groups}
        return {row for one in examples for row in self._prepared.examples.rows(one)} - rows

    def _move(
        self, rows: set[int], complete: set[int]
    ) -> tuple[Repaired, dict[int, dict[str, Any]]]:
        repaired = repair_run(self._prepared, keep_errors=False, again=rows)
        members = {}
        with open(self._prepared.run.results, "rb") as file:
            for event in repaired.kept:
                if event.row in complete:
                    file.seek(event.offset)
                    members[event.row] = decode_row(file.read(event.length))
        return repaired, members

    def _publish(self, repaired: Repaired) -> None:
        """Publishes which rows are gone and where the others are now."""
        for event in repaired.kept:
            self._hub.state.apply(event)
        for event in repaired.rerun:
            self._rollouts.lost_tokens[event.row] = tokens_of_row(event)
        self._hub.publish(RowsTakenBack(0, clock.now(), repaired.rerun))
        self._hub.flush()

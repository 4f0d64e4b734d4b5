"""Commands on a run at work that concern single rollouts, its limits or its files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tui_eval import clock
from tui_eval.commands import Cancel, Command, Rerun, Save, SaveAs, SetMaxConcurrent
from tui_eval.config.changes import change
from tui_eval.config.plan import plan_to_toml
from tui_eval.engine.execution.reruns import Reruns
from tui_eval.engine.execution.rollout_work import AtWork
from tui_eval.engine.limits.limits import Held, open_file_notices, within_open_files
from tui_eval.errors import RefusedError
from tui_eval.events import MaxConcurrentChanged, Stage
from tui_eval.runs.writer import write_atomically
from tui_eval.text.figures import plural


class Steering:
    """Handles the commands that concern rollouts, limits and files. Each is answered."""

    def __init__(self, parts: AtWork) -> None:
        self._parts = parts
        self._hub = parts.hub
        self._max_concurrent = parts.prepared.started.max_concurrent
        self._reruns = Reruns(parts, self._cannot_move)

    def handle(self, command: Command) -> None:
        """Handles a listener's command; what takes longer is done in a task of the run."""
        if isinstance(command, Cancel):
            self._cancel(command.row)
        elif isinstance(command, Rerun):
            self._rerun(command)
        elif isinstance(command, SetMaxConcurrent):
            total = self._hub.state.total
            for notice in open_file_notices(command.max_concurrent, total, "The limit"):
                self._hub.answer(notice.text, False)
            self._set_max_concurrent(within_open_files(command.max_concurrent, total))
        elif isinstance(command, SaveAs):
            self._parts.schedule.start(self._save_as(Path(command.path)), Held())
        elif isinstance(command, Save):
            self._parts.schedule.start(self._save(), Held())

    def _cancel(self, row: int) -> None:
        schedule, rollouts = self._parts.schedule, self._parts.rollouts
        rollout: Any = self._hub.active.get(row)  # one that these rollouts have made
        if schedule.drop(row):
            schedule.start(rollouts.never_begins(row), Held())
        elif rollout is not None and not rollout.is_over:
            if (rest := rollouts.cancel(rollout)) is not None:
                schedule.start(rest, Held())
        else:
            self._hub.answer("This rollout has finished: there is nothing to cancel.", False)
            return
        self._hub.answer("Cancelled; it runs again with the errored ones.")

    def _rerun(self, command: Rerun) -> None:
        self._hub.flush()
        state, errors = self._hub.state, self._hub.state.errors
        rows = {
            row
            for row in command.rows or errors
            if row in errors and state.stage[row] == Stage.ERROR
            if command.error in ("", errors[row])
        } - self._reruns.requested
        if self._parts.files.disk.error is not None:
            self._hub.answer("The disk refuses what is written: nothing can be moved there.", False)
            return
        if self._parts.rollouts.may_begin_no_more:
            self._hub.answer("The budget is spent: nothing new begins.", False)
            return
        if not rows:
            self._hub.answer(
                "No rollout of these has errored: there is nothing to run again.", False
            )
            return
        self._reruns.requested |= rows
        self._parts.schedule.start(self._rerun_now(rows), Held())

    async def _rerun_now(self, rows: set[int]) -> None:
        await self._reruns.take_back(rows)
        many = "One errored rollout runs" if len(rows) == 1 else f"{len(rows):,} errored ones run"
        self._hub.answer(f"{many} again; what they were is in superseded.jsonl.")

    def _cannot_move(self, error: OSError, count: int) -> None:
        what = f"{plural(count, 'errored rollout')} cannot run again yet"
        why = self._parts.files.cannot_write(error)
        self._hub.answer(f"{what}: {why}. It is tried again until there is room.", False)

    def _set_max_concurrent(self, limit: int) -> None:
        before, self._max_concurrent = self._max_concurrent, limit
        if before == limit:
            return
        self._parts.limits.move(limit)
        self._hub.publish(MaxConcurrentChanged(0, clock.now(), limit, before))
        plan, run = self._parts.prepared.plan, self._parts.prepared.run
        plan.changes.append(change("max_concurrent", before, limit))
        try:
            write_atomically(run.plan, plan_to_toml(plan).encode())
        except OSError as error:
            self._hub.answer(f"The limit has moved, but run.toml does not say so: {error}", False)
        self._parts.write_metadata()

    async def _save_as(self, target: Path) -> None:
        parts = self._parts
        try:
            await parts.files.save_as(target)
        except RefusedError as error:
            self._hub.answer("; ".join(map(str, error.faults)), False)
            return
        parts.publish_move()
        parts.write_metadata()
        self._hub.answer(f"The run continues in {parts.prepared.run.path}.")

    async def _save(self) -> None:
        self._hub.flush()  # the index has what listeners know
        done, total = self._hub.state.finished, self._hub.state.total
        try:
            await asyncio.to_thread(self._parts.files.writer.sync)
            self._parts.files.journal.sync()
        except OSError as error:
            self._hub.answer(f"This could not be saved: {error.strerror or error}", False)
            return
        self._parts.write_metadata()
        self._hub.answer(f"{done:,} of {total:,} rollouts are on the disk now.")

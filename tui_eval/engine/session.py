"""A run from its plan to its end: prepared, worked through, stopped, summed up."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable
from typing import Any

from tui_eval.clients import make_client
from tui_eval.config.endpoints import EMBEDDED
from tui_eval.engine.embedded import EmbeddedEndpoint
from tui_eval.engine.gate import Gate
from tui_eval.engine.hub import Hub
from tui_eval.engine.prepared import Prepared
from tui_eval.engine.rollouts import Rollouts, Work
from tui_eval.engine.sampling import sample_engine
from tui_eval.engine.slots import Slots
from tui_eval.engine.watch import RolloutWatch
from tui_eval.events import Command, Noticed, Pause, Resume, RunFinished, Stop
from tui_eval.runs.dead import close_for_the_dead
from tui_eval.runs.journal import Journal, restore_state
from tui_eval.runs.metadata import build_metadata
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.writer import RunWriter, write_metadata
from tui_eval.types import ClientConfig

log = logging.getLogger("tui_eval.engine")

CANCELS_WITHIN_S = 1.0
METADATA_EVERY_S = 1.0
TEARDOWN_WITHIN_S = 30.0


class Session:
    """Works one run through. `stop` ends it early and resumably."""

    def __init__(
        self, hub: Hub, prepared: Prepared, redact: Redactor, giving_up: Callable[[], None]
    ) -> None:
        """Opens the run's files.

        Args:
            giving_up: Called once where the run is to end early.

        Raises:
            OSError: They cannot be written.
        """
        self._hub = hub
        self._prepared = prepared
        self._plan = prepared.plan
        self._redact = redact
        self._gate = Gate()
        self._slots = Slots(prepared.plan.max_concurrent)
        self._writer = RunWriter(prepared.run, redact)
        self._journal = Journal(prepared.run, redact)
        self._began = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._job: asyncio.Task[None] | None = None
        self._giving_up = giving_up
        self._given_up = False
        self._failure = ""
        self._refused = ""
        hub.before_telling = self._writer.flush_index

    def obey(self, command: Command) -> None:
        """Does what a listener asks for."""
        if isinstance(command, Pause) and self._gate.is_open:
            self._gate.close()
            self._hub.move_gate(False)
        elif isinstance(command, Resume) and not self._gate.is_open:
            self._gate.open()
            self._hub.move_gate(True)
        elif isinstance(command, Stop):
            self.stop()

    def stop(self) -> None:
        """Ends the run now: calls in flight are given up, finished rollouts are on disk."""
        if self._given_up:
            return  # a second cancellation would cut cleanup and teardown short
        self._given_up = True
        self._giving_up()
        if self._job is not None:
            self._job.cancel()

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why
        self.stop()

    async def run(self) -> RunFinished:
        """Works through what is left of the run and closes its files."""
        self._hub.tell(self._prepared.started)
        self._hub.flush()
        for event in self._prepared.done:
            self._hub.state.apply(event)
        self._write_metadata()
        helpers = [
            asyncio.create_task(sample_engine(self._hub)),
            asyncio.create_task(self._write_metadata_often()),
        ]
        self._job = asyncio.create_task(self._work_through())
        if self._given_up:
            self._job.cancel()
        try:
            await self._job
        except asyncio.CancelledError:
            pass
        except Exception as error:
            log.exception("the engine failed")
            self._failure = f"{type(error).__name__}: {error}"
        for task in helpers:
            task.cancel()
        return self._close()

    async def _work_through(self) -> None:
        endpoint = await EmbeddedEndpoint.start() if self._plan.base_url == EMBEDDED else None
        client, watching = None, None
        try:
            if endpoint is not None:
                watching = asyncio.create_task(self._watch(endpoint))
            url = endpoint.url if endpoint else self._plan.base_url
            client = make_client(self._client_config(url), os.environ.get(self._plan.key_var))
            rollouts = self._rollouts(client)
            # Modules and dataset stay to the end. Looking through them in every full collection
            # takes a quarter of the engine's CPU time, and a tenth of a second each time.
            gc.freeze()
            self._take_up_journal(rollouts)
            for row in self._prepared.todo:
                await self._slots.acquire()
                self._begin(self._one(rollouts, row))
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            await self._give_up_tasks()
            await self._tear_down()
            if client is not None:
                await client.close()
            if endpoint is not None and watching is not None:
                watching.cancel()
                await endpoint.stop()

    async def _watch(self, endpoint: EmbeddedEndpoint) -> None:
        code = await endpoint.ended()
        self._fail(f"the embedded endpoint ended with exit code {code}; see engine.log")

    async def _tear_down(self) -> None:
        try:
            async with asyncio.timeout(TEARDOWN_WITHIN_S):
                raised = await self._prepared.env.run_teardown()
        except TimeoutError:
            self._warn(f"teardown handlers were given up after {TEARDOWN_WITHIN_S:.0f} s")
            return
        for error in raised:
            log.error("a teardown handler failed", exc_info=error)
            self._warn(f"a teardown handler raised {type(error).__name__}: {error}; see engine.log")

    def _warn(self, text: str) -> None:
        self._hub.tell(Noticed(0, time.time(), "warning", text))

    def _client_config(self, url: str) -> ClientConfig:
        return ClientConfig(
            client_type=self._plan.client_type,
            api_key_var=self._plan.key_var,
            api_base_url=url,
        )

    def _rollouts(self, client: Any) -> Rollouts:
        work = Work(
            env=self._prepared.env,
            client=client,
            model=self._plan.model,
            sampling_args={**self._prepared.env.sampling_args, **self._plan.sampling_args},
            inputs=self._prepared.examples.input,
            per_example=self._plan.rollouts_per_example,
            max_retries=self._plan.max_retries,
            columns=self._plan.state_columns,
        )
        return Rollouts(work, self._hub, self._gate, self._slots, self._writer, self._journal)

    def _take_up_journal(self, rollouts: Rollouts) -> None:
        """Rollouts that an earlier session generated go straight to their group's score."""
        per_example = self._plan.rollouts_per_example
        for row, state in self._prepared.saved_members.items():
            rollouts.groups.add_saved(row, state)
        for row, record in self._prepared.journal.items():
            watch = RolloutWatch(row, row % per_example, self._hub, self._gate, self._slots)
            self._hub.active[row] = watch
            state = restore_state(record, self._prepared.fresh_state(row))
            watch.attempt = record["attempt"]
            watch.messages_added([*state["prompt"], *state["completion"]])
            self._journal.keep(row, record)
            self._begin(self._guarded(rollouts.join_group(watch, state)))

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _one(self, rollouts: Rollouts, row: int) -> None:
        try:
            await self._guarded(rollouts.run(row))
        finally:
            self._slots.release()

    async def _guarded(self, work: Any) -> None:
        try:
            await work
        except OSError as error:
            self._fail(self._cannot_write(error))
        except Exception as error:
            log.exception("the engine failed at a rollout")
            self._fail(f"{type(error).__name__}: {error}; see engine.log")

    def _cannot_write(self, error: OSError) -> str:
        return f"{self._prepared.run.path} cannot be written: {error.strerror or error}"

    async def _give_up_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCELS_WITHIN_S)

    async def _write_metadata_often(self) -> None:
        written = self._hub.state.finished
        while True:
            await asyncio.sleep(METADATA_EVERY_S)
            if self._hub.state.finished != written:
                written = self._hub.state.finished
                self._write_metadata()

    def _write_metadata(self) -> None:
        passed = (time.monotonic() - self._began) * 1000
        metadata = build_metadata(
            self._hub.state,
            time_ms=self._prepared.time_before_ms + passed,
            state_columns=self._plan.state_columns,
            env_version=self._prepared.env_version,
            tools=self._prepared.tools,
        )
        try:
            write_metadata(self._prepared.run, metadata, self._redact)
        except OSError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                self._warn(f"metadata.json: {error}")

    def _ending(self) -> RunFinished:
        state = self._hub.state
        if self._failure:
            return RunFinished(0, time.time(), "failed", 1, self._failure)
        if state.finished < state.total:
            return RunFinished(0, time.time(), "interrupted", 130)
        return RunFinished(0, time.time(), "finished", 3 if state.errored else 0)

    def _close(self) -> RunFinished:
        self._hub.flush()
        try:
            self._journal.close()
            self._writer.close()
        except OSError as error:
            self._failure = self._failure or self._cannot_write(error)
        end = self._ending()
        self._hub.state.apply(end)
        self._write_metadata()
        self._prepared.lock.release()
        self._hub.before_telling = lambda: None
        self._hub.tell(end)
        self._hub.flush()
        return end

    def last_words(self) -> int:
        """Called from another thread while the loop is held: leaves the files whole.

        Returns:
            The exit code.
        """
        end = self._ending()
        self._writer.close()
        self._prepared.lock.release()
        close_for_the_dead(self._prepared.run, end)
        return end.exit_code

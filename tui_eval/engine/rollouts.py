"""One rollout's way: generated, scored, written, told."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tui_eval.engine.gate import Gate
from tui_eval.engine.groups import Groups
from tui_eval.engine.hub import Hub
from tui_eval.engine.slots import Slots
from tui_eval.engine.watch import RolloutWatch
from tui_eval.errors import ErrorChain, InfraError, ModelError
from tui_eval.events import Stage
from tui_eval.observer import CURRENT
from tui_eval.runs.journal import Journal
from tui_eval.runs.row import build_row, encode_row
from tui_eval.runs.scan import Line, event_of
from tui_eval.runs.writer import RunWriter
from tui_eval.state import State
from tui_eval.types import RolloutInput

if TYPE_CHECKING:
    from tui_eval.clients.base import Client
    from tui_eval.environments.environment import Environment

log = logging.getLogger("tui_eval.rollout")

RETRIED = (InfraError, ModelError)
LONGEST_BACKOFF_S = 60.0


@dataclass(frozen=True, slots=True)
class Work:
    """What every rollout of a run has in common.

    Args:
        inputs: Makes the input of an example from its place; a fresh one at each call.
        columns: Keys of the state that are saved with each row.
    """

    env: Environment
    client: Client[Any, Any, Any, Any]
    model: str
    sampling_args: dict[str, Any]
    inputs: Callable[[int], RolloutInput]
    per_example: int
    max_retries: int
    columns: list[str]


class Rollouts:
    """Runs rollouts one by one; whatever happens to one stays with it."""

    def __init__(
        self, work: Work, hub: Hub, gate: Gate, slots: Slots, writer: RunWriter, journal: Journal
    ) -> None:
        self._work = work
        self._hub = hub
        self._gate = gate
        self._slots = slots
        self._writer = writer
        self._journal = journal
        self.groups = Groups(work.per_example)
        self._grouped = work.env.rubric.has_group_funcs and work.env.score_rollouts

    async def run(self, row: int) -> None:
        """Takes one rollout from its input to its line on disk. The caller holds its slot.

        Raises:
            OSError: The line could not be written.
        """
        watch = RolloutWatch(row, row % self._work.per_example, self._hub, self._gate, self._slots)
        self._hub.active[row] = watch
        CURRENT.set(watch)
        state = await self._generate(watch)
        if not self._grouped:
            if state.get("error") is None:
                await self._score(watch, [state])
            self.write(watch, state)
            return
        if state.get("error") is None:
            self._journal.add(row, watch.number, watch.attempt, state)
            watch.staged(Stage.GENERATED)
        await self.join_group(watch, state)

    async def join_group(self, watch: RolloutWatch, state: State) -> None:
        """Adds a generated rollout to its group; the last member has the group scored.

        Raises:
            OSError: A line could not be written.
        """
        if state.get("error") is not None:
            self.write(watch, state)
        members = self.groups.add(watch, state)
        if members is None:
            return
        alive = [(w, s) for w, s in members if s.get("error") is None]
        fresh = [(w, s) for w, s in alive if w is not None]
        for member, _ in fresh:
            member.staged(Stage.SCORING)
        if fresh:
            await self._score(watch, [s for _, s in alive])
        for member, its_state in fresh:
            self.write(member, its_state)
            self._journal.forget(member.row)

    async def _generate(self, watch: RolloutWatch) -> State:
        while True:
            state = await self._attempt(watch)
            error = state.get("error")
            retries_left = self._work.max_retries - (watch.attempt - 1)
            if retries_left <= 0 or not isinstance(error, RETRIED):
                return state
            pause = min(2.0 ** (watch.attempt - 1), LONGEST_BACKOFF_S) * (
                0.75 + random.random() / 2
            )
            log.warning("%s: %s; runs again in %.1f s", watch, ErrorChain(error), pause)
            watch.note = f"{type(error).__name__}, runs again in {pause:.0f} s"
            watch.staged(Stage.SLEEPING)
            async with self._slots.lent():
                await asyncio.sleep(pause)
            watch.note = ""
            watch.begin_attempt()

    async def _attempt(self, watch: RolloutWatch) -> State:
        work = self._work
        values = work.inputs(watch.row // work.per_example)
        begun = time.time()
        try:
            state: Any = await work.env.rollout(
                values, work.client, work.model, dict(work.sampling_args)
            )
            if isinstance(state, State):
                return state
            error: BaseException = TypeError(f"rollout returned a {type(state).__name__}, no State")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            error = InfraError("the environment cancelled its own rollout")
        except BaseException as raised:  # also SystemExit: people's code must not end the engine
            error = raised
        return self._broken(values, error, begun)

    def _broken(self, values: RolloutInput, error: BaseException, begun: float) -> State:
        """The state of a rollout whose environment raised before it gave one back."""
        passed = (time.time() - begun) * 1000
        return State(
            input=values,
            error=error,
            completion=[],
            is_completed=True,
            stop_condition="has_error",
            timing={
                "generation_ms": passed,
                "scoring_ms": 0.0,
                "total_ms": passed,
                "start_time": begun,
            },
        )

    async def _score(self, watch: RolloutWatch, states: list[State]) -> None:
        if not self._work.env.score_rollouts:
            return
        watch.staged(Stage.SCORING)
        rubric = self._work.env.rubric
        try:
            if self._grouped:
                await rubric.score_group(states)
            else:
                await rubric.score_rollout(states[0])
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a rubric of people's own may raise anything
            for state in states:
                state["error"] = error

    def write(self, watch: RolloutWatch, state: State) -> None:
        """Writes a finished rollout's line, then tells of it.

        Raises:
            OSError: The line could not be written.
        """
        row = self._row(watch, state)
        offset, length = self._writer.append(encode_row(row))
        if log.isEnabledFor(logging.DEBUG):
            for score in state.scores:
                log.debug("%s: %s", watch, score)
            log.debug("%s: reward %s, timing %s", watch, row["reward"], row["timing"])
        event = event_of(Line(0, offset, length, row), watch.row, watch.number)
        event.at = time.time()
        self._writer.remember(event)
        self._hub.finished(event)

    def _row(self, watch: RolloutWatch, state: State) -> dict[str, Any]:
        """The rollout's row; a state of which none can be made is the rollout's error."""
        columns = self._work.columns
        try:
            return build_row(state, number=watch.number, attempt=watch.attempt, columns=columns)
        except Exception as error:
            values = self._work.inputs(watch.row // self._work.per_example)
            broken = self._broken(values, error, time.time())
            return build_row(broken, number=watch.number, attempt=watch.attempt)

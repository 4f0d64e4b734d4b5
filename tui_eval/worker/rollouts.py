"""Rollouts: each is generated, scored, written and published.

This is the only place where a rollout's steps follow each other. A row is written for every rollout
that began: what an environment or a rubric raises is kept in the state, and only what the engine
itself cannot do (write the line) is raised. The line is on disk before the event goes out, so that
no listener knows of a row that a crash could lose.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from tui_eval import clock
from tui_eval.environments.one_rollout import broken_state, generate, score
from tui_eval.error_classes import class_at
from tui_eval.errors import Error, ErrorChain, RolloutTimeoutError
from tui_eval.events import Stage
from tui_eval.fold.trajectory import from_row
from tui_eval.observer import CURRENT
from tui_eval.open_files import REASON, is_out_of_files
from tui_eval.runs.journal_records import encode_state, restore_state, tokens_in_journal
from tui_eval.runs.row import encode_row
from tui_eval.runs.scan import decode_row
from tui_eval.state import State
from tui_eval.worker.call_recorder import CallRecorder
from tui_eval.worker.cancelling import CANCELLED, EndedByCancelling, give_up
from tui_eval.worker.deadline import RolloutDeadline
from tui_eval.worker.finished_row import row_of
from tui_eval.worker.gate import Gate
from tui_eval.worker.groups import Groups, Member, Unscored, fault_of
from tui_eval.worker.interrupted_state import interrupted_state
from tui_eval.worker.ports import Held, Hub, Journal, Limits, Rows
from tui_eval.worker.recorded_calls import RecordedCalls
from tui_eval.worker.retryable import is_retryable
from tui_eval.worker.rollout_log import log_errors
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.work import Work

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient

log = logging.getLogger("tui_eval.rollout")

TIMED_OUT = "timeout_reached"
"""The stop condition of a rollout whose time was up."""
LONGEST_BACKOFF_S = 60.0
LONGEST_STARVING_S = 8.0
MOST_SHORT_STARVES = 10
"""So often a rollout soon runs again for want of open files: each time its model calls are paid."""


class Rollouts:
    """Runs rollouts one by one; whatever happens to one stays with it.

    `generated` are those that wait until all are generated. `lost_tokens` are the tokens of
    rows that were taken back and of attempts of earlier sessions, by row.
    """

    def __init__(
        self, work: Work, hub: Hub, gate: Gate, limits: Limits, rows: Rows, journal: Journal
    ) -> None:
        self._work = work
        self._hub = hub
        self._gate = gate
        self._limits = limits
        self._rows = rows
        self._journal = journal
        self.groups = Groups(work.examples, work.columns)
        self.generated: deque[tuple[RolloutObserver, State]] = deque()
        self.lost_tokens = dict(work.lost)
        self._recorder = CallRecorder(work, journal)

    def watch(self, row: int, held: Held) -> RolloutObserver:
        """The observer of a rollout that begins."""
        number = self._work.examples.number(row)
        watch = RolloutObserver(row, number, self._hub, self._gate, held)
        watch.call_timeout = self._work.call_timeout
        self._hub.active[row] = watch
        watch.lost_input, watch.lost_output, *kinds = self.lost_tokens.get(row, (0, 0))
        watch.lost_kinds = tuple(kinds)
        watch.guard = self._work.guard_of(row)
        return watch

    def run(self, row: int, client: AnyClient, held: Held) -> Coroutine[Any, Any, None]:
        """What takes one rollout from its input to its line on disk; it can be cancelled at once.

        Awaiting it raises the rollout's error, where that ends the run.

        Args:
            held: Its slots; the caller gives back what is left of them.
        """
        return self._run(self.watch(row, held), client)

    async def _run(self, watch: RolloutObserver, client: AnyClient) -> None:
        row = watch.row
        CURRENT.set(watch)
        if watch.cancelled is not None:
            await self._ends_early(watch, watch.cancelled, self._work.answers.pop(row, ()))
            return
        watch.code_begins()  # others may have begun since it was made
        state = await self._generate(watch, client)
        if state.get("error") is not None and self._work.is_fatal(state):
            raise state["error"]
        self._limits.generated(watch.held)
        waits = self._work.grouped or self._work.score_at_end
        if (waits or self._recorder.keeps_no_answers) and state.get("error") is None:
            line = encode_state(row, watch.number, watch.attempt, state)
            await self._recorder.keep_generated(watch, line)
        if waits and state.get("error") is None:
            watch.staged(Stage.GENERATED)
            if self._work.score_at_end:
                self.generated.append((watch, state))
                return
        await self.finish(watch, state)

    def restore(self, row: int, record: Mapping[str, Any]) -> None:
        """Puts a rollout that an earlier session generated among those that are `generated`.

        Args:
            record: Of the journal.
        """
        watch = self.watch(row, self._limits.nothing_held(row))
        state = restore_state(record, self._work.examples.fresh_state(row))
        state.observer = watch
        watch.attempt = record["attempt"]
        watch.input_tokens, watch.output_tokens, *kinds = tokens_in_journal(record)
        watch.kinds = tuple(kinds)
        watch.example_id = record["input"].get("example_id")
        self._recorder.is_generated(watch)
        watch.messages_added([*state["prompt"], *state["completion"]])
        watch.staged(Stage.GENERATED)
        self.generated.append((watch, state))

    def score_next(self, held: Held, row: int | None = None) -> Coroutine[Any, Any, None]:
        """What takes one of those that are `generated` to its line on disk.

        Args:
            held: Its slots; the caller gives back what is left of them.
            row: Of which rollout; by default that of the first.
        """
        one = next(one for one in self.generated if row in (None, one[0].row))
        self.generated.remove(one)
        watch, state = one
        watch.held = held
        return self.finish(watch, state)

    async def finish(self, watch: RolloutObserver, state: State) -> None:
        """Takes a generated rollout to its line on disk: with its group, where it has one."""
        CURRENT.set(watch)
        if self._work.grouped:
            await self._join_group(watch, state)
            return
        if state.get("error") is None:
            with EndedByCancelling(watch):
                if watch.cancelled is None:
                    await self._score(watch, [state])
        self.write(watch, state if watch.cancelled is None else give_up(state, watch))

    async def _join_group(self, watch: RolloutObserver, state: State) -> None:
        """Adds a generated rollout to its group; the last member has the group scored."""
        if watch.cancelled is not None:
            give_up(state, watch)
        if state.get("error") is not None:
            self.write(watch, state)
        members = self.groups.add(watch, state)
        if members is not None:
            await self._finish_group(watch, members)

    async def _finish_group(self, watch: RolloutObserver, members: list[Member]) -> None:
        """Scores a complete group and writes its rows.

        Where one of them is cancelled meanwhile, the others are scored again without it.
        """
        alive = [(w, s) for w, s in members if s.get("error") is None]
        RecordedCalls.share_judges(w.calls for w, _ in alive if w is not None and w.calls)
        while fresh := [(w, s) for w, s in alive if w is not None]:
            if not watch.held.slots:  # it never began: the group's last member was cancelled
                await self._limits.begin_scoring(watch.held)
            with EndedByCancelling(*(member for member, _ in fresh)):
                if not any(member.cancelled for member, _ in fresh):
                    for member, _ in fresh:
                        member.staged(Stage.SCORING)
                    await self._score(watch, [s for _, s in alive])
            gone = [(w, s) for w, s in fresh if w.cancelled]
            if not gone:
                break
            for member, its_state in gone:
                self.write(member, give_up(its_state, member))
            alive = [(w, s) for w, s in alive if w is None or not w.cancelled]
        lost = sum(w is None and s.get("error") is not None for w, s in alive)
        if lost:
            log.warning(
                "%s: %d rollouts of earlier sessions could not be scored again, and its group was "
                "compared without them",
                *(watch, lost),
            )
        for member, its_state in fresh:
            self.write(member, its_state)

    def cancel(self, watch: RolloutObserver) -> Coroutine[Any, Any, None] | None:
        """Ends a rollout that has begun.

        Returns:
            What is left to do for it, where it waits and nobody is at it.
        """
        watch.cancel()
        state = self.groups.waiting(watch.row)
        if state is not None:  # it stays in its group as an errored one
            self.write(watch, give_up(state, watch))
            return None
        for one in self.generated:
            if one[0] is watch:
                self.generated.remove(one)
                return self.finish(watch, give_up(one[1], watch))
        return None

    def never_begins(
        self, row: int, records: Sequence[Mapping[str, Any]] = ()
    ) -> Coroutine[Any, Any, None]:
        """What is to do for a rollout that was cancelled before it began: its row says so.

        Args:
            records: What the journal has of it, where it had begun in a worker that ended.
        """
        watch = self.watch(row, self._limits.nothing_held(row))
        watch.cancel()
        assert watch.cancelled is not None, "it was cancelled just now"
        return self._ends_early(watch, watch.cancelled, records)

    def _ends_early(
        self, watch: RolloutObserver, error: Error, records: Sequence[Mapping[str, Any]]
    ) -> Coroutine[Any, Any, None]:
        return self.finish(watch, give_up(self._interrupted(watch, error, records), watch))

    def give_up(
        self, row: int, attempt: int, error: Error, records: Sequence[Mapping[str, Any]] = ()
    ) -> Coroutine[Any, Any, None]:
        """What is to do for a rollout that ended its worker: its row says so.

        Args:
            attempt: In which it did.
            records: What the journal has of that.
        """
        watch = self.watch(row, self._limits.nothing_held(row))
        watch.attempt = attempt
        state = self._interrupted(watch, error, records)
        if isinstance(error, RolloutTimeoutError):
            state["stop_condition"] = TIMED_OUT
        return self.finish(watch, state)

    def _interrupted(
        self, watch: RolloutObserver, error: BaseException, records: Sequence[Mapping[str, Any]]
    ) -> State:
        fresh = self._work.examples.fresh_state(watch.row)
        watch.example_id = fresh["example_id"]
        return interrupted_state(fresh, records, error)

    def _broken(self, watch: RolloutObserver, error: BaseException) -> State:
        values = self._work.examples.input(watch.row)
        watch.example_id = values["example_id"]
        return broken_state(values, error, clock.now())

    async def _generate(self, watch: RolloutObserver, client: AnyClient) -> State:
        state = None
        with EndedByCancelling(watch):
            state = await self._attempt(watch, client)
            while self._runs_again(watch, state):
                await self._sleep(watch, state)
                if self._work.out_of_budget():
                    break
                watch.starved += is_out_of_files(fault_of(state))
                self._recorder.give_up(watch)
                self._journal.forget(watch.row)
                watch.begin_attempt()
                state = await self._attempt(watch, client)
        if state is None:
            assert watch.cancelled is not None, "nothing else ends the block early"
            state = self._broken(watch, watch.cancelled)
        return state if watch.cancelled is None else give_up(state, watch)

    def _runs_again(self, watch: RolloutObserver, state: State, tries: int = 0) -> bool:
        if watch.cancelled is not None:
            return False
        error = fault_of(state)
        if not is_out_of_files(error):
            retries_left = self._work.max_retries - watch.failed_attempts - tries
            if retries_left <= 0 or not is_retryable(error):
                return False
        return not self._work.out_of_budget()

    async def _sleep(self, watch: RolloutObserver, state: State, tries: int = 0) -> None:
        """Waits a while before a rollout that errored is generated or scored again.

        Args:
            tries: How often it was scored again.
        """
        error = fault_of(state)
        is_starved = is_out_of_files(error)
        doublings = watch.starved if is_starved else watch.failed_attempts + tries
        is_soon = is_starved and watch.starved < MOST_SHORT_STARVES
        pause = min(2.0**doublings, LONGEST_STARVING_S if is_soon else LONGEST_BACKOFF_S)
        pause *= 0.75 + random.random() / 2
        log.warning("%s: %s; runs again in %.1f s", watch, ErrorChain(error), pause)
        why = REASON if is_starved else type(error).__name__
        watch.sleeps_for(pause, f"{why}, runs again in {pause:.0f}s")
        watch.staged(Stage.SLEEPING)
        async with watch.held.lent():
            await asyncio.sleep(pause)
            watch.slept()
        watch.woke()

    async def _attempt(self, watch: RolloutObserver, client: AnyClient) -> State:
        """Generates once; where that takes too long the state has what was said so far."""
        work = self._work
        values, args = work.examples.input(watch.row), dict(work.sampling_args)
        watch.example_id = values["example_id"]
        self._recorder.attempt_begins(watch)
        begun, state = clock.now(), None
        with RolloutDeadline(work.timeout, watch.row) as watch.deadline:
            state = await generate(work.env, values, client, work.model, args, work.goes_on)
        state, watch.state = state or watch.state, None  # they would hold each other alive
        if not watch.deadline.expired:
            assert state is not None, "only an expired deadline ends the block early"
            return state
        error = watch.deadline.error()
        if isinstance(error, RolloutTimeoutError):
            error.error_class = class_at(watch.stage_of_call)
        if state is None:
            state = broken_state(values, error, begun)
        elif state.get("completion") is None:
            await work.env.run_cleanup(state)  # which a rollout of people's own may not do
            elapsed = (time.perf_counter() - state.began) * 1000
            timing = state.get("timing") or {}
            state["timing"] = {**timing, "generation_ms": elapsed, "total_ms": elapsed}
            state["completion"] = watch.messages[watch.prompt_length :]
        state["is_completed"] = True
        state["error"] = error
        state["stop_condition"] = CANCELLED if watch.cancelled else TIMED_OUT
        return state

    async def _score(self, watch: RolloutObserver, states: list[State]) -> None:
        """Scores rollouts; what failed for infrastructure is scored again, with its group."""
        ready, tries = [Unscored(one) for one in states if one.get("error") is None], 0
        try:
            await self._score_once(watch, states)
            while failed := [x.state for x in ready if self._runs_again(watch, x.state, tries)]:
                is_starved = all(is_out_of_files(fault_of(state)) for state in failed)
                await self._sleep(watch, failed[0], tries)
                tries += not is_starved
                for one in ready:
                    one.restore()
                await self._score_once(watch, states)
        finally:
            for state in states:
                state.metric_error = None  # its frames hold what nobody needs any more

    async def _score_once(self, watch: RolloutObserver, states: list[State]) -> None:
        scoring = self._limits.scoring(watch.held, len(states))
        if scoring is None:
            await self._score_now(watch, states)
            return
        async with AsyncExitStack() as slots:
            with watch.waits_for("a slot for scoring"):
                await slots.enter_async_context(scoring)
            await self._score_now(watch, states)

    async def _score_now(self, watch: RolloutObserver, states: list[State]) -> None:
        work = self._work
        if work.env.score_rollouts:
            watch.staged(Stage.SCORING)
        await score(work.env, states, together=work.grouped, goes_on=work.goes_on)

    @property
    def may_begin_no_more(self) -> bool:
        """Whether the budget is spent."""
        return self._work.out_of_budget()

    def write(self, watch: RolloutObserver, state: State) -> None:
        """Writes a finished rollout's line, then reports it."""
        watch.is_over = True
        self._recorder.give_up(watch)
        watch.calls = None  # it leads back here: a garbage collection would have to free both
        row = row_of(watch, state, self._work)
        if log.isEnabledFor(logging.DEBUG):
            watch.log_state(state)
            for score in state.scores:
                log.debug("%s: %s", watch, score)
            log.debug("%s: reward %s, timing %s", watch, row["reward"], row["timing"])
        line = self._rows.write(watch.row, watch.number, encode_row(row))
        if state.get("error") is not None and watch.cancelled is None:
            log_errors(watch, from_row(watch.row, decode_row(line)))
        self.lost_tokens.pop(watch.row, None)

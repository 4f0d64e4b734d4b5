"""Rollouts: each is generated, scored, written and published.

This is the only place where a rollout's steps follow each other. A row is written for every rollout
that began: exceptions of an environment or a rubric are kept in the state, and only a fault of the
engine itself (it cannot write the line) is raised. The line is on disk before the event goes out,
so that no listener knows of a row that a crash could lose.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any

from tui_eval import clock
from tui_eval.environments.one_rollout import broken_state, generate, score
from tui_eval.error_classes import class_at
from tui_eval.errors import Error, RolloutTimeoutError
from tui_eval.events import Stage
from tui_eval.fold.trajectory import from_row
from tui_eval.observer import CURRENT
from tui_eval.open_files import is_out_of_files
from tui_eval.runs.journal_records import (
    encode_state,
    restore_state,
    split_given_up,
    tokens_in_journal,
    tokens_of_trajectory,
)
from tui_eval.runs.row import encode_row
from tui_eval.runs.scan import decode_row
from tui_eval.state import State
from tui_eval.worker.call_recorder import CallRecorder
from tui_eval.worker.early_end import CANCELLED, EndedByCancelling, RolloutDeadline, give_up
from tui_eval.worker.gate import Gate
from tui_eval.worker.groups import Groups, Member, leading, log_lost
from tui_eval.worker.ports import Held, Hub, Journal, Limits, Rows
from tui_eval.worker.recorded_calls import RecordedCalls
from tui_eval.worker.restored_states import interrupted_state
from tui_eval.worker.rollout_log import log_errors
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.rollout_retries import RolloutRetries, Unscored, fault_of
from tui_eval.worker.work import Work

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient

log = logging.getLogger("tui_eval.rollout")

TIMED_OUT = "timeout_reached"
"""The stop condition of a rollout whose time was up."""


class Rollouts:
    """Runs rollouts one by one; whatever happens to one stays with it.

    `generated` are rollouts that wait until all are generated. `lost_tokens` are the tokens of
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
        self._retries = RolloutRetries(work)

    def observer(self, row: int, held: Held) -> RolloutObserver:
        """The observer of a rollout that begins."""
        number = self._work.examples.number(row)
        observer = RolloutObserver(row, number, self._hub, self._gate, held)
        observer.call_timeout = self._work.call_timeout
        self._hub.active[row] = observer
        observer.lost_input, observer.lost_output, *kinds = self.lost_tokens.get(row, (0, 0))
        observer.lost_kinds = tuple(kinds)
        observer.guard = self._work.guard_of(row)
        return observer

    def run(self, row: int, client: AnyClient, held: Held) -> Coroutine[Any, Any, None]:
        """Takes one rollout from its input to its line on disk; it can be cancelled at once.

        Awaiting the result raises the rollout's error, where that ends the run.

        Args:
            held: Its slots; the caller releases the rest of them.
        """
        return self._run(self.observer(row, held), client)

    async def _run(self, observer: RolloutObserver, client: AnyClient) -> None:
        row = observer.row
        CURRENT.set(observer)
        if observer.cancelled is not None:
            await self._ends_early(observer, self._work.answers.pop(row, ()))
            return
        observer.code_begins()  # others may have begun since it was made
        state = await self._generate(observer, client)
        if self._work.is_fatal(state):
            raise state["error"]
        self._limits.generated(observer.held)
        waits = self._work.grouped or self._work.score_at_end
        if (waits or self._recorder.keeps_no_answers) and state.get("error") is None:
            line = encode_state(row, observer.number, observer.attempt, state)
            await self._recorder.keep_generated(observer, line)
        if waits and state.get("error") is None:
            observer.staged(Stage.GENERATED)
            if self._work.score_at_end:
                self.generated.append((observer, state))
                return
        await self.finish(observer, state)

    def restore(self, row: int, record: Mapping[str, Any]) -> None:
        """Adds a rollout that an earlier session generated to those that are `generated`."""
        observer = self.observer(row, self._limits.nothing_held(row))
        state = restore_state(record, self._work.examples.fresh_state(row))
        state.observer = observer
        observer.attempt = record["attempt"]
        observer.input_tokens, observer.output_tokens, *kinds = tokens_in_journal(record)
        observer.kinds = tuple(kinds)
        observer.example_id = record["input"].get("example_id")
        self._recorder.is_generated(observer)
        observer.messages_added([*state["prompt"], *state["completion"]])
        observer.staged(Stage.GENERATED)
        self.generated.append((observer, state))

    def score_next(self, held: Held, row: int | None = None) -> Coroutine[Any, Any, None]:
        """Takes one of those that are `generated` to its line on disk.

        Args:
            held: Its slots; the caller releases the rest of them.
            row: Of the rollout; by default that of the first.
        """
        one = next(one for one in self.generated if row in (None, one[0].row))
        self.generated.remove(one)
        observer, state = one
        observer.held = held
        return self.finish(observer, state)

    async def finish(self, observer: RolloutObserver, state: State) -> None:
        """Takes a generated rollout to its line on disk, with its group if it has one."""
        CURRENT.set(observer)
        if self._work.grouped:
            await self._join_group(observer, state)
            return
        if state.get("error") is None:
            with EndedByCancelling(observer):
                if observer.cancelled is None:
                    await self._score(observer, [state])
        self.write(observer, state if observer.cancelled is None else give_up(state, observer))

    async def _join_group(self, observer: RolloutObserver, state: State) -> None:
        """Adds a generated rollout to its group; the last member has the group scored."""
        if observer.cancelled is not None:
            give_up(state, observer)
        if state.get("error") is not None:
            self.write(observer, state)
        members = self.groups.add(observer, state)
        if members is not None:
            await self._finish_group(observer, members)

    async def join_saved(self, row: int, values: Mapping[str, Any]) -> None:
        """Adds a rollout whose row another worker wrote; the last member has the group scored."""
        members = self.groups.add_saved(row, values)
        observer = next((one for one, _ in members or () if one is not None), None)
        if members is not None and observer is not None:
            observer.held = self._limits.nothing_held(row)
            await self._finish_group(observer, members)

    async def _finish_group(self, observer: RolloutObserver, members: list[Member]) -> None:
        """Scores a complete group and writes its rows.

        Where one of them is cancelled meanwhile, the others are scored again without it.
        """
        alive = [(w, s) for w, s in members if s.get("error") is None]
        RecordedCalls.share_judges(w.calls for w, _ in alive if w is not None and w.calls)
        while fresh := [(w, s) for w, s in alive if w is not None]:
            observer = leading(observer, [member for member, _ in fresh])
            if not observer.held.slots:  # it never began: the group's last member was cancelled
                await self._limits.begin_scoring(observer.held)
            with EndedByCancelling(*(member for member, _ in fresh)):
                if not any(member.cancelled for member, _ in fresh):
                    for member, _ in fresh:
                        member.staged(Stage.SCORING)
                    await self._score(observer, [s for _, s in alive])
            gone = [(w, s) for w, s in fresh if w.cancelled]
            if not gone:
                break
            for member, its_state in gone:
                self.write(member, give_up(its_state, member))
            alive = [(w, s) for w, s in alive if w is None or not w.cancelled]
        log_lost(observer, alive)
        for member, its_state in fresh:
            self.write(member, its_state)

    def cancel(self, observer: RolloutObserver) -> Coroutine[Any, Any, None] | None:
        """Ends a rollout that has begun.

        Returns:
            The rest of its work, where it waits and no task is at it.
        """
        observer.cancel()
        state = self.groups.waiting(observer.row)
        if state is not None:  # it stays in its group as an errored one
            self.write(observer, give_up(state, observer))
            return None
        for one in self.generated:
            if one[0] is observer:
                self.generated.remove(one)
                return self.finish(observer, give_up(one[1], observer))
        return None

    def never_begins(
        self, row: int, records: Sequence[Mapping[str, Any]] = ()
    ) -> Coroutine[Any, Any, None]:
        """Writes the row of a rollout that was cancelled before it began.

        Args:
            records: Its journal records, where it had begun in a worker that ended.
        """
        observer = self.observer(row, self._limits.nothing_held(row))
        observer.cancel()
        return self._ends_early(observer, records)

    def _ends_early(
        self, observer: RolloutObserver, records: Sequence[Mapping[str, Any]]
    ) -> Coroutine[Any, Any, None]:
        assert observer.cancelled is not None, "somebody cancelled it"
        state = self._interrupted(observer, observer.cancelled, records)
        return self.finish(observer, give_up(state, observer))

    def give_up(
        self,
        row: int,
        attempt: int,
        error: Error,
        records: Sequence[Mapping[str, Any]] = (),
        took_s: float = 0.0,
    ) -> Coroutine[Any, Any, None]:
        """Writes the row of a rollout that ended its worker.

        Args:
            attempt: The one that did, and `took_s` its seconds.
            records: Its journal records.
        """
        observer = self.observer(row, self._limits.nothing_held(row))
        observer.attempt = attempt
        state = self._interrupted(observer, error, records, took_s)
        if isinstance(error, RolloutTimeoutError):
            state["stop_condition"] = TIMED_OUT
        return self.finish(observer, state)

    def _interrupted(
        self,
        observer: RolloutObserver,
        error: BaseException,
        records: Sequence[Mapping[str, Any]],
        took_s: float = 0.0,
    ) -> State:
        fresh = self._work.examples.fresh_state(observer.row)
        observer.example_id = fresh["example_id"]
        used, given_up = split_given_up(records)
        observer.lose(tokens_of_trajectory(given_up))
        return interrupted_state(fresh, [*used.values()], error, took_s)

    async def _generate(self, observer: RolloutObserver, client: AnyClient) -> State:
        state = None
        with EndedByCancelling(observer):
            state = await self._attempt(observer, client)
            while self._retries.runs_again(observer, state):
                await self._retries.sleep(observer, state)
                if self._work.out_of_budget():
                    break
                observer.starved += is_out_of_files(fault_of(state))
                self._recorder.give_up(observer)
                self._journal.forget(observer.row)
                observer.begin_attempt()
                state = await self._attempt(observer, client)
        if state is None:
            assert observer.cancelled is not None, "nothing else ends the block early"
            values = self._work.examples.input(observer.row)
            observer.example_id = values["example_id"]
            state = broken_state(values, observer.cancelled, clock.now())
        return state if observer.cancelled is None else give_up(state, observer)

    async def _attempt(self, observer: RolloutObserver, client: AnyClient) -> State:
        """Generates once; where that takes too long the state has the messages so far."""
        work = self._work
        values, args = work.examples.input(observer.row), dict(work.sampling_args)
        observer.example_id = values["example_id"]
        self._recorder.attempt_begins(observer)
        begun, state = clock.now(), None
        with RolloutDeadline(work.timeout, observer.row) as observer.deadline:
            state = await generate(work.env, values, client, work.model, args, work.propagates)
        state, observer.state = state or observer.state, None  # they would hold each other alive
        if not observer.deadline.expired:
            assert state is not None, "only an expired deadline ends the block early"
            return state
        error = observer.deadline.error()
        if isinstance(error, RolloutTimeoutError):
            error.error_class = class_at(observer.stage_of_call)
        if state is None:
            state = broken_state(values, error, begun)
        elif state.get("completion") is None:
            await work.env.run_cleanup(state)  # which a rollout of people's own may not do
            elapsed = (time.perf_counter() - state.began) * 1000
            timing = state.get("timing") or {}
            state["timing"] = {**timing, "generation_ms": elapsed, "total_ms": elapsed}
            state["completion"] = observer.messages[observer.prompt_length :]
        state["is_completed"] = True
        state["error"] = error
        state["stop_condition"] = CANCELLED if observer.cancelled else TIMED_OUT
        return state

    async def _score(self, observer: RolloutObserver, states: list[State]) -> None:
        """Scores rollouts; a failure of infrastructure is scored again, with its group."""
        ready, tries = [Unscored(one) for one in states if one.get("error") is None], 0
        again = self._retries.runs_again
        try:
            await self._score_once(observer, states)
            while failed := [x.state for x in ready if again(observer, x.state, tries)]:
                is_starved = all(is_out_of_files(fault_of(state)) for state in failed)
                await self._retries.sleep(observer, failed[0], tries)
                tries += not is_starved
                for one in ready:
                    one.restore()
                await self._score_once(observer, states)
        finally:
            for state in states:
                state.metric_error = None  # its frames hold what nobody needs any more

    def _score_once(self, observer: RolloutObserver, states: list[State]) -> Awaitable[None]:
        scoring = self._limits.scoring(observer.held, len(states))
        if scoring is None:
            return self._score_now(observer, states)
        return self._score_in_slots(observer, states, scoring)

    async def _score_in_slots(
        self,
        observer: RolloutObserver,
        states: list[State],
        scoring: AbstractAsyncContextManager[None],
    ) -> None:
        async with AsyncExitStack() as slots:
            with observer.waits_for("a slot for scoring"):
                await slots.enter_async_context(scoring)
            await self._score_now(observer, states)

    def _score_now(self, observer: RolloutObserver, states: list[State]) -> Awaitable[None]:
        work = self._work
        if work.env.score_rollouts:
            observer.staged(Stage.SCORING)
        return score(work.env, states, together=work.grouped, propagates=work.propagates)

    @property
    def may_begin_no_more(self) -> bool:
        """Whether the budget is spent."""
        return self._work.out_of_budget()

    def write(self, observer: RolloutObserver, state: State) -> None:
        """Writes a finished rollout's line, then reports it."""
        observer.is_over = True
        self._recorder.give_up(observer)
        observer.calls = None  # it leads back here: a garbage collection would have to free both
        row = self._work.row_of(observer, state)
        if log.isEnabledFor(logging.DEBUG):
            observer.log_state(state)
            for score in state.scores:
                log.debug("%s: %s", observer, score)
            log.debug("%s: reward %s, timing %s", observer, row["reward"], row["timing"])
        line = self._rows.write(observer.row, observer.number, encode_row(row))
        if state.get("error") is not None and observer.cancelled is None:
            log_errors(observer, from_row(observer.row, decode_row(line)))
        self.lost_tokens.pop(observer.row, None)
        self._work.answers.pop(observer.row, None)

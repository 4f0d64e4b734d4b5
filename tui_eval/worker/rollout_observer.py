"""The observer of one rollout in flight.

Environments and clients report to the `observer` floor and know no engine. This class takes their
reports: it turns them into stages and messages for the hub, and holds the rollout where a run is
paused, a budget is used up or a request sleeps.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from tui_eval import clock
from tui_eval.errors import CancelledByUserError
from tui_eval.events import Event, MessagesAdded, RolloutStaged, Stage, ToolFinished
from tui_eval.output import CALL, MOST, Output, Printing
from tui_eval.printable import one_line
from tui_eval.token_kinds import Kinds, Tokens, plus
from tui_eval.worker.early_end import RolloutDeadline
from tui_eval.worker.gate import Gate, Pauses
from tui_eval.worker.open_calls import MODEL_CALL, ModelCall, OpenWait, OpenWaits, Unanswered
from tui_eval.worker.ports import CallGuard, Held, Hub
from tui_eval.worker.recorded_calls import RecordedCall, RecordedCalls, RecordedResult
from tui_eval.worker.rollout_log import StateLog, message_text, request_text
from tui_eval.worker.running_answer import RunningAnswer, plain_message, with_plain_result

if TYPE_CHECKING:
    from tui_eval.rollout_data import StepRecord, ToolRecord
    from tui_eval.state import State

log = logging.getLogger("tui_eval.rollout")

SHOWN = 300
"""Characters of a tool's error in the log; its record has all of it."""

REFUSALS = ("status 429", "status 529")
"""Causes of a retry that mean an overloaded endpoint."""

MOST_OF_A_ROLLOUT = 10 * MOST
"""Characters that are kept of what the code of one rollout prints."""

FOREIGN_CODE = (Stage.SETUP, Stage.TOOL, Stage.SCORING)
"""Stages that begin right before an environment's or a rubric's own code runs."""


class RolloutObserver:
    """Observes one rollout for the hub; holds it at the gate and around sleeping requests.

    `example_id` is known once its input was read. `cancelled` is set once somebody ended the
    rollout, `cut` ends what works on it now, and `is_over` once there is nothing left to do but
    to write its row. `starved` counts the attempts that met too many open files.
    """

    # A thousand are in flight at once, and their dicts would not fit into a cache.
    __slots__ = (
        *("_answer", "_answers", "_gate", "_hub", "_logs_all", "_published_steps", "_room"),
        *("_state_log", "_tools_done", "_tools_in_flight", "_unanswered", "again_at", "attempt"),
        *("call_timeout", "calls", "cancelled", "cut", "deadline", "example_id", "guard", "held"),
        *("input_tokens", "is_over", "kinds", "lost_input", "lost_kinds", "lost_output"),
        *("messages", "note", "number", "output", "output_tokens", "pauses", "prompt_length"),
        *("row", "starved", "state", "tool_calls", "turns", "waits"),
    )

    def __init__(self, row: int, number: int, hub: Hub, gate: Gate, held: Held) -> None:
        self.row: int = row
        self.example_id: Any = None
        self.number = number
        self.attempt = self.starved = 0
        self._answers = 0
        self.waits = OpenWaits()
        self.note = ""
        self.again_at = 0.0
        self.state: State | None = None
        self.deadline = RolloutDeadline(None)
        self.call_timeout: float | None = None
        self.input_tokens = self.output_tokens = 0
        self.lost_input = self.lost_output = 0
        self.kinds: Kinds = ()
        self.lost_kinds: Kinds = ()
        self._hub, self._gate, self.held = hub, gate, held
        self.cancelled: CancelledByUserError | None = None
        self.is_over = False
        self.cut: Callable[[], None] | None = None
        self.guard: CallGuard | None = None
        self.calls: RecordedCalls | None = None
        self.pauses = Pauses(gate)
        self.begin_attempt()

    def cancel(self) -> None:
        """Ends the rollout: the task at it is cut short, and none begins."""
        if self.cancelled is not None or self.is_over:
            return
        self.cancelled = CancelledByUserError("Somebody cancelled this rollout")
        log.warning("%s: cancelled", self)
        if not self.deadline.cut(self.cancelled) and self.cut is not None:
            self.cut()

    @property
    def is_being_cut(self) -> bool:
        """Whether it was cancelled and a task at it has not ended yet."""
        return self.cancelled is not None and self.cut is not None

    @property
    def failed_attempts(self) -> int:
        """Earlier attempts that failed of something else than too many open files."""
        return self.attempt - 1 - self.starved

    def lose(self, tokens: Tokens) -> None:
        """Counts tokens of answers that no row will have."""
        if tokens:
            self.lost_input += tokens[0]
            self.lost_output += tokens[1]
            self.lost_kinds = plus(self.lost_kinds, tokens[2:])

    def begin_attempt(self) -> None:
        """Counts one more attempt and starts its records again."""
        self.attempt += 1
        self.turns = self.tool_calls = self._tools_in_flight = 0
        self.lose((self.input_tokens, self.output_tokens, *self.kinds))
        self.input_tokens = self.output_tokens = 0
        self.kinds = ()
        self._unanswered = Unanswered()
        self.state = None
        self._state_log: StateLog | None = None
        self._published_steps = 0
        self._logs_all = log.isEnabledFor(logging.DEBUG)
        self.prompt_length = 0
        self.messages: list[Any] = []
        self._tools_done: list[ToolFinished] = []
        self._answer: RunningAnswer | None = None
        self.output: Output | None = None
        self._room = MOST_OF_A_ROLLOUT
        self.staged(Stage.SETUP)

    def began(self, state: State) -> None:
        self.state = state
        self.example_id = state.get("example_id", self.example_id)
        self._state_log = StateLog(state) if self._logs_all else None

    def log_state(self, state: State | None) -> None:
        """Logs what people's code changed in the state; nothing unless all is logged."""
        if self._state_log is not None and state is not None:
            for key, value in self._state_log.changes(state):
                log.debug("%s: state %s = %s", self, key, value)

    def staged(self, stage: Stage) -> None:
        self.waits.move_to(stage)
        self._hub.mark_changed(self)
        if stage in FOREIGN_CODE:
            if stage is Stage.TOOL:
                self._tools_in_flight = max(self._tools_in_flight, 0) + 1
            if self.deadline.is_counted:
                self.deadline.code_runs()
            self._hub.before_foreign_code(self.row, stage)

    @property
    def stage(self) -> Stage:
        """Its stage."""
        return self.waits.stage

    def waits_for(self, what: str) -> OpenWait:
        return OpenWait(what, self.waits, self._hub, self)

    def code_begins(self) -> None:
        if self.deadline.is_counted:
            self.deadline.code_runs()
        self._hub.code_runs(self.row, self.waits.stage)

    def call_runs(self, error_class: str, what: str) -> None:
        self._hub.call_runs(self, error_class, what)

    def call_waits(self) -> None:
        self._hub.call_waits()

    def call_ignores_end(self, error_class: str, what: str) -> None:
        self._hub.call_ignores_end(self, error_class, what)

    @property
    def stage_of_call(self) -> Stage | None:
        if self.stage is Stage.TOOL:
            return Stage.TOOL if self._tools_in_flight > 0 else None
        is_calling = self.stage in (Stage.MODEL, Stage.SLEEPING) and self._unanswered
        return Stage.MODEL if is_calling else None

    def recorded_call(self, *request: Any) -> RecordedCall | None:
        if self.calls is None:
            return None
        call = self.calls.begin(*request)
        if call.answer is None and (lost := self.calls.take_unused()):
            turn, difference = self.calls.turn, self.calls.difference
            log.warning("%s: continues live in turn %s: %s", self, turn, difference)
            self.lose(lost)
        return call

    def recorded_judge_call(self, request: Sequence[Any]) -> RecordedCall | None:
        return None if self.calls is None else self.calls.judge(request)

    def recorded_result(self, name: str) -> RecordedResult | None:
        return None if self.calls is None else self.calls.result(name)

    async def model_call(
        self, model: str, sampling_args: Mapping[str, Any], tools: Sequence[Any]
    ) -> Callable[[], None] | None:
        longest = 0 if self.guard is None else self.guard.longest(sampling_args)
        call = ModelCall(self.guard, longest)
        MODEL_CALL.set(call)
        try:
            await self._reserve(call)
            await self._pass_gate(call)
        except BaseException:
            call.end()
            raise
        if self._logs_all:
            log.debug("%s: requests %s", self, request_text(model, sampling_args, tools))
        return call.end

    async def _reserve(self, call: ModelCall) -> None:
        """Waits until a call fits into the budget, outside of the rollout's time."""
        if call.guard is None:
            return
        if not call.guard.takes(call.tokens):
            self.staged(Stage.HELD)
            began = time.perf_counter()
            with self.deadline.held():
                await call.guard.wait(call.tokens, self, lambda: self.held.release())
            if self.state is not None:
                self.state.began += time.perf_counter() - began
        call.is_reserved = True

    async def _pass_gate(self, call: ModelCall | None) -> None:
        if not self._gate.is_open:
            self.staged(Stage.HELD)
            with self.deadline.held(), self.pauses.left_out(self):
                await self._gate.wait()
        self.deadline.check()
        if self.waits.stage is not Stage.MODEL:
            self.staged(Stage.MODEL)
        if call is not None and not call.is_over:
            self._unanswered.sent(call)

    def model_answered(self, input_tokens: int, output_tokens: int, kinds: Kinds = ()) -> None:
        if requested_at := self._unanswered.answered():
            self.held.answered(requested_at)
        self.turns += 1
        self._use(input_tokens, output_tokens, kinds)
        self._hub.mark_changed(self)
        if self.calls is None:  # else once it is kept
            self.code_begins()
        if self._logs_all:
            log.debug("%s: answered, %d + %d tokens", self, input_tokens, output_tokens)

    def answer_refused(self, input_tokens: int, output_tokens: int, kinds: Kinds = ()) -> None:
        self._unanswered.answered()
        self._use(input_tokens, output_tokens, kinds)
        self._hub.mark_changed(self)
        log.debug("%s: no usable answer, %d + %d tokens", self, input_tokens, output_tokens)

    def _use(self, input_tokens: int, output_tokens: int, kinds: Kinds) -> None:
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        if kinds:
            self.kinds = plus(self.kinds, kinds)

    def answer_begins(self) -> Callable[[str, str], None]:
        self._answers += 1
        answer = self._answer = RunningAnswer(self.row, self._answers)

        def add_text(kind: str, text: str) -> None:
            more = answer.add(kind, text)
            if more is not None and answer is self._answer and self._hub.is_subscribed(self.row):
                self._hub.publish_to_watchers(more)

        return add_text

    def messages_added(self, messages: Sequence[Any]) -> None:
        self._answer = None
        self.code_begins()
        first = len(self.messages)
        self.messages.extend(messages)
        if first == 0:
            self.prompt_length = len(self.messages)
        first_step, self._published_steps = self._published_steps, len(self._steps)
        if self._hub.is_subscribed(self.row):
            self._hub.publish_to_watchers(self._added(first, first_step))
        if self._logs_all:
            for message in messages:
                log.debug("%s: %s", self, message_text(message))
            self.log_state(self.state)

    def printed(self, text: str, redact: Callable[[str], str]) -> None:
        if self.is_over:
            return
        call = CALL.get()
        printing: Printing = self if call is None or call.is_over else call
        if printing.output is None:
            printing.output = Output(redact, min(MOST, self._room))
            self._room = max(self._room - MOST, 0)
        printing.output.add(text)

    def tool_finished(self, record: ToolRecord, result: Any) -> None:
        self.tool_calls += 1
        self._tools_in_flight -= 1
        self._hub.mark_changed(self)
        self.code_begins()
        name, ms, error = record["name"], record["ms"], record["error"]
        traceback, output = record.get("traceback", ""), record.get("output", "")
        done = ToolFinished(
            0, clock.now(), self.row, record["id"], name, ms, error, result, traceback, output
        )
        self._tools_done.append(done)
        if self._hub.is_subscribed(self.row):
            self._hub.publish_to_watchers(with_plain_result(done))
        if traceback:
            why = f"{one_line(str(error), SHOWN)}\n{traceback.rstrip()}"
            log.warning("%s: tool %s failed: %s", self, name, why)
        if self._logs_all:
            failed = f", failed: {error}" if error else ""
            log.debug("%s: tool %s took %.0f ms%s", self, name, ms, failed)
            self.log_state(self.state)

    def request_sleeps(
        self, seconds: float, reason: str, is_paced: bool = False
    ) -> AbstractAsyncContextManager[Any]:
        log.warning("%s: %s; the request is tried again in %.1f s", self, reason, seconds)
        if reason.startswith(REFUSALS):
            call = MODEL_CALL.get()
            requested_at = 0.0 if call is None else call.requested_at
            self.held.refuse(requested_at, seconds, is_paced=is_paced)
        self.sleeps_for(seconds, f"{reason}, again in {seconds:.0f}s")
        return self._sleeping()

    def request_queues(self, seconds: float, reason: str) -> AbstractAsyncContextManager[Any]:
        log.debug("%s: %s; the request waits %.1f s for its turn", self, reason, seconds)
        self.sleeps_for(seconds, f"{reason}, again in {seconds:.0f}s")
        return self._sleeping()

    def sleeps_for(self, seconds: float, note: str) -> None:
        """Notes why the rollout sleeps from now on, and until when."""
        self.note, self.again_at = note, clock.now() + seconds

    def slept(self) -> None:
        """Notes that it slept, and that it waits for its slot again."""
        self.note, self.again_at = f"{self.note.rpartition(', ')[0]}, waits for a slot", 0.0
        self._hub.mark_changed(self)

    def woke(self) -> None:
        """Clears these notes."""
        self.note, self.again_at = "", 0.0

    @asynccontextmanager
    async def _sleeping(self) -> AsyncIterator[None]:
        before = self.stage
        call = MODEL_CALL.get()
        was_reserved = call is not None and call.is_reserved
        if call is not None:
            call.give_back()
        self.staged(Stage.SLEEPING)
        with self.deadline.held(), ExitStack() as waiting:
            async with self.held.lent():
                yield
                self.slept()
                waiting.enter_context(self.pauses.left_out(self))
        self.woke()
        self.staged(before)
        if call is not None and was_reserved:
            await self._reserve(call)
        await self._pass_gate(call)

    def events_so_far(self) -> list[Event]:
        """The conversation so far, results of its tool calls, and the answer in flight."""
        running = self._answer.events() if self._answer else ()
        return [self._added(0, 0), *map(with_plain_result, self._tools_done), *running]

    @property
    def _steps(self) -> list[StepRecord]:
        return [] if self.state is None else self.state.steps

    def _added(self, first: int, first_step: int) -> MessagesAdded:
        added = [plain_message(message) for message in self.messages[first:]]
        at, steps = clock.now(), [{**step} for step in self._steps[first_step:]]
        return MessagesAdded(
            0, at, self.row, self.attempt, first, self.prompt_length, added, first_step, steps
        )

    def staged_event(self, at: float) -> RolloutStaged:
        """The stage of the rollout."""
        counts = self.attempt, self.turns, self.tool_calls, self.input_tokens, self.output_tokens
        lost = self.lost_input, self.lost_output, self.kinds, self.lost_kinds
        return RolloutStaged(
            *(0, at, self.row, int(self.stage), *counts, self.note, self.again_at),
            *(*lost, *self.waits.longest()),
        )

    def __str__(self) -> str:
        which = f"row {self.row}" if self.example_id is None else f"example {self.example_id}"
        return f"{which} #{self.number}, attempt {self.attempt}"

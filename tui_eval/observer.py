"""The observer that a rollout reports to, and which can hold it.

Environments, clients and rubrics are used without an engine too, in a notebook or under another
library. They report to whatever observer is current, which by default does nothing, and so import
nothing of the engine.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from tui_eval.token_kinds import Kinds

if TYPE_CHECKING:
    from tui_eval.events import Stage
    from tui_eval.rollout_data import Response, ToolRecord


class RecordedCall(Protocol):
    """One model call in the journal of a run."""

    @property
    def answer(self) -> tuple[Response, float] | None:
        """The answer from before an interruption, and its duration in milliseconds."""

    def keep(self, response: Response, model_ms: float) -> Awaitable[None]:
        """Writes the answer down, before the rollout continues with it."""


class RecordedResult(Protocol):
    """One result of an environment's code in the journal of a run."""

    @property
    def value(self) -> tuple[Any] | None:
        """The result from before an interruption, as JSON carries it; None where there is none."""

    def keep(self, value: Any) -> Awaitable[None]:
        """Writes the result down, before the rollout continues with it."""


class Observer(Protocol):
    """Receives one rollout's progress; the engine gives each rollout one of its own."""

    @property
    def row(self) -> int | None:
        """Its place among the rollouts of the run; None where it has none."""

    @property
    def call_timeout(self) -> float | None:
        """Seconds that one call of people's code may take; None for any time."""

    @property
    def stage_of_call(self) -> Stage | None:
        """The stage, while a model or tool call is in flight; None while other code runs."""

    def began(self, state: Any) -> None:
        """The rollout has this state now."""

    def staged(self, stage: Stage) -> None:
        """The rollout moved to another stage."""

    def code_begins(self) -> None:
        """A function of people's is called next: what it does to the process is this rollout's."""

    def waits_for(self, what: str) -> AbstractContextManager[None]:
        """The context of what may take long: a call of people's code, of a model or of a judge.

        Args:
            what: What the rollout waits for meanwhile, for people.
        """

    def call_runs(self, error_class: str, what: str) -> None:
        """This thread goes into a call of people's code that has a limit.

        Args:
            error_class: The class of its errors.
            what: What is called, for people.
        """

    def call_waits(self) -> None:
        """The thread left the call, which may continue later."""

    def call_ignores_end(self, error_class: str, what: str) -> None:
        """A call that was cancelled for its limit keeps running; arguments as above."""

    def recorded_call(
        self,
        prompt: Sequence[Any],
        model: str,
        sampling_args: Mapping[str, Any],
        tools: Sequence[Any],
    ) -> RecordedCall | None:
        """The record of a model call that is about to be made; None where none is kept."""

    def recorded_judge_call(self, request: Sequence[Any]) -> RecordedCall | None:
        """The record of a call that is no part of the trajectory; None where none is kept."""

    def recorded_result(self, name: str) -> RecordedResult | None:
        """The record of the next result of a name; None where none is kept."""

    async def model_call(
        self, model: str, sampling_args: Mapping[str, Any], tools: Sequence[Any]
    ) -> Callable[[], None] | None:
        """Waits until the gate before every model call is open; gets the parameters of the call.

        Returns:
            What is to be called once the call is over, however it ends; None for nothing.
        """

    def model_answered(self, input_tokens: int, output_tokens: int, kinds: Kinds = ()) -> None:
        """A model call came back; counts are 0 where the endpoint says none."""

    def answer_refused(self, input_tokens: int, output_tokens: int, kinds: Kinds = ()) -> None:
        """A model call brought no usable answer, and used these tokens all the same."""

    def answer_begins(self) -> Callable[[str, str], None]:
        """A streamed answer begins; its text goes to what this returns, with its kind before it:

        `reasoning`, `text` or `tool`. A request that is tried again begins another one.
        """

    def messages_added(self, messages: Sequence[Any]) -> None:
        """These messages are now at the end of the conversation."""

    def printed(self, text: str, redact: Callable[[str], str]) -> None:
        """The rollout's code printed or logged this, in any thread, within `output.CALL`.

        Args:
            text: It may be a piece of a line, and a piece of a secret.
            redact: Takes the secrets out of a text.
        """

    def tool_finished(self, record: ToolRecord, result: Any) -> None:
        """One tool call ended.

        `result` is the content of the tool message; the message itself is reported with the others
        of its turn, once all calls of the turn have ended.
        """

    def request_sleeps(
        self, seconds: float, reason: str, is_paced: bool = False
    ) -> AbstractAsyncContextManager[Any]:
        """The context of a wait before another try of a request; the slot is free meanwhile.

        `is_paced` where the endpoint named the time, and all others wait as well.
        """

    def request_queues(self, seconds: float, reason: str) -> AbstractAsyncContextManager[Any]:
        """The same for one that was not sent yet, as its endpoint refuses others for a reason."""


def _ignore_text(kind: str, text: str) -> None:
    pass


class SilentObserver:
    """Receives nothing and holds nothing: for rollouts that nobody watches."""

    row: int | None = None
    call_timeout: float | None = None
    stage_of_call: Stage | None = None

    def began(self, state: Any) -> None: ...

    def staged(self, stage: Stage) -> None: ...

    def code_begins(self) -> None: ...

    def waits_for(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def call_runs(self, error_class: str, what: str) -> None: ...

    def call_waits(self) -> None: ...

    def call_ignores_end(self, error_class: str, what: str) -> None: ...

    def recorded_call(self, *request: Any) -> RecordedCall | None:
        return None

    def recorded_judge_call(self, request: Sequence[Any]) -> RecordedCall | None:
        return None

    def recorded_result(self, name: str) -> RecordedResult | None:
        return None

    async def model_call(
        self, model: str, sampling_args: Mapping[str, Any], tools: Sequence[Any]
    ) -> Callable[[], None] | None:
        return None

    def model_answered(self, input_tokens: int, output_tokens: int, kinds: Kinds = ()) -> None: ...

    def answer_refused(self, input_tokens: int, output_tokens: int, kinds: Kinds = ()) -> None: ...

    def answer_begins(self) -> Callable[[str, str], None]:
        return _ignore_text

    def messages_added(self, messages: Sequence[Any]) -> None: ...

    def printed(self, text: str, redact: Callable[[str], str]) -> None: ...

    def tool_finished(self, record: ToolRecord, result: Any) -> None: ...

    def request_sleeps(
        self, seconds: float, reason: str, is_paced: bool = False
    ) -> AbstractAsyncContextManager[Any]:
        return nullcontext()

    def request_queues(self, seconds: float, reason: str) -> AbstractAsyncContextManager[Any]:
        return nullcontext()


SILENT = SilentObserver()


class CallClock:
    """The start of the last try of a model call, in seconds of `time.perf_counter`."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Another try begins."""
        self.began = time.perf_counter()


CLOCK: ContextVar[CallClock] = ContextVar("clock")
"""The clock of the model call that a rollout makes in this task."""

CURRENT: ContextVar[Observer] = ContextVar("observer", default=SILENT)
"""The observer of the rollout that runs in this task; a new state takes it from here."""

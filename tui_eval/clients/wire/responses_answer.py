"""A response as it comes over the wire, with the attribute names of OpenAI's SDK."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_stream import AnswerStream, OnText
from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.failed_answers import error_text
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS
from tui_eval.clients.wire.usage import CompletionTokens, PromptTokens


class IncompleteDetails(AnswerStruct):
    """The reason why an answer ended early."""

    reason: str | None = None


class ResponsesUsage(AnswerStruct):
    """Tokens of one answer."""

    input_tokens: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    input_tokens_details: PromptTokens | None = None
    output_tokens_details: CompletionTokens | None = None


class ResponsesAnswer(AnswerStruct):
    """One response; items are plain dicts, so that kinds nobody here knows come back whole."""

    id: str | None = None
    created_at: float | None = None
    model: str | None = None
    status: str | None = None
    error: Any = None
    incomplete_details: IncompleteDetails | None = None
    output: list[dict[str, Any]] | None = None
    usage: ResponsesUsage | None = None

    def is_sound(self) -> bool:
        """See `AnswerStruct`."""
        return self.error is None and bool(self.output) and self.status in FINISH_REASONS


_LAST = ("response.completed", "response.incomplete", "response.failed")
_KINDS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "tool",
}
"""The streamed part of these events."""
_BETWEEN = {"reasoning": "\n\n", "tool": "\n"}
"""The separator of texts of a kind that come from different places."""


class ResponsesEvent(AnswerStruct):
    """One event of the stream; `type` says which of the other fields are set."""

    type: str = ""
    response: ResponsesAnswer | None = None
    item: dict[str, Any] | None = None
    output_index: int | None = 0
    summary_index: int | None = 0
    content_index: int | None = 0
    delta: Any = None
    code: Any = None
    message: Any = None
    error: Any = None


class ResponsesStream(AnswerStream):
    """Events of one response, put together; see `AnswerStream`.

    The last event has the whole response. Deltas are only streamed; where an endpoint leaves out
    the items at the end, they are those that it called done.
    """

    EVENT = ResponsesEvent

    def __init__(self, on_text: OnText, url: Any = "the endpoint") -> None:
        super().__init__(on_text, url)
        self._answer: ResponsesAnswer | None = None
        self._begun: set[int] = set()
        self._done: dict[int, dict[str, Any]] = {}
        self._places: dict[str, tuple[int | None, ...]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the last event came, and all items with it or before it."""
        if self._answer is None:
            return False
        return bool(self._answer.output) or self._begun <= self._done.keys()

    def add(self, event: ResponsesEvent) -> None:
        """Takes in the next event."""
        kind = _KINDS.get(event.type)
        if kind is not None and isinstance(event.delta, str):
            self._publish(kind, event, event.delta)
        elif event.type == "response.output_item.added":
            self._begun.add(event.output_index or 0)
            if event.item is not None and event.item.get("type") == "function_call":
                self._publish("tool", event, f"{event.item.get('name') or ''} ")
        elif event.type == "response.output_item.done" and event.item is not None:
            self._done[event.output_index or 0] = event.item
        elif event.type in _LAST and event.response is not None:
            self._end(event.response)
        elif event.type == "error":
            raise error_text({"code": event.code, "message": event.message})

    def _publish(self, kind: str, event: ResponsesEvent, text: str) -> None:
        place = (event.output_index, event.summary_index, event.content_index)
        if self._places.setdefault(kind, place) != place:
            self._places[kind] = place
            text = _BETWEEN.get(kind, "") + text
        if text:
            self._on_text(kind, text)

    def _end(self, answer: ResponsesAnswer) -> None:
        if answer.error:
            raise error_text(answer.error)
        self._answer = answer
        self.is_over = True

    def answer(self) -> ResponsesAnswer:
        """The response so far."""
        answer = self._answer or ResponsesAnswer()
        answer.output = answer.output or [item for _, item in sorted(self._done.items())]
        return answer

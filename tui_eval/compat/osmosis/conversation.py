"""The conversation of one rollout, followed in the lists of messages that an agent hands about."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from tui_eval.errors import traceback_text
from tui_eval.events import Stage
from tui_eval.messages import AssistantMessage, Messages, normalize_messages, text_of, to_message
from tui_eval.state import State
from tui_eval.types import ToolRecord


class Conversation:
    """Reports each message to the observer once, and records the tool calls between them.

    Args:
        prompt: The agent's first messages, reported at once. A message is known again by its
            identity, so these must be the dicts that the agent gets.
    """

    def __init__(self, state: State, prompt: Sequence[dict[str, Any]]) -> None:
        self.messages: Messages = []
        self._state = state
        self._published: list[Any] = []  # kept, so that no other message gets one of these ids
        self._ids: set[int] = set()
        self._pending: dict[str, str] = {}  # calls of the last answer without a record: id, name
        self._latencies: deque[float] = deque()
        self._timed = 0  # calls that were timed here and that the agent has not reported yet
        self._failures: dict[str, str] = {}
        self._answered_at = 0.0
        self.read(prompt)

    def read(self, messages: Any) -> Messages:
        """A conversation in our types, its new messages reported; raises where one is none."""
        found = normalize_messages(messages)
        start = self._first_new(messages)
        new = found[start:]
        if new:
            self._publish(messages[start:], new)
        for message in new:
            if message.role == "tool":
                self._note_result(message.tool_call_id, text_of(message.content))
        return found

    def answered(self, answer: dict[str, Any]) -> None:
        """Adds the model's answer."""
        message = to_message(answer)
        self._publish([answer], [message])
        calls = (isinstance(message, AssistantMessage) and message.tool_calls) or ()
        self._pending = {call.id: call.name for call in calls}
        self._answered_at = time.perf_counter()
        for _ in calls:
            self._state.observer.staged(Stage.TOOL)

    def call_recorded(self, ms: float) -> None:
        """The agent says that it made one more call; which one, its messages say later."""
        if self._timed:
            self._timed -= 1
        else:
            self._latencies.append(ms)

    def call_failed(self, call_id: str, text: str) -> None:
        """The agent answers a call with an error."""
        self._failures[call_id] = text

    def call_ended(
        self, call_id: Any, ms: float, result: Any, error: BaseException | None = None
    ) -> None:
        """A call ended that was timed here."""
        if call_id in self._pending:
            self._timed += 1
            self._record(call_id, ms, result, error)

    def close(self) -> None:
        """Records the calls that the agent reported but never answered in a message."""
        while self._latencies:
            call_id = next(iter(self._pending), "")
            self._record(call_id, self._latencies.popleft(), None)

    def _first_new(self, messages: Sequence[Any]) -> int:
        start = len(messages)
        while start and not self._is_known(messages[start - 1]):
            start -= 1
        if start == 0 and self._published and messages and messages[0] == self._published[0]:
            return min(len(self._published), len(messages))  # the same one, rewritten
        rewritten = 0 < start < len(messages) and messages[start - 1] != self._published[-1]
        if rewritten and _role(messages[start]) == _role(self._published[-1]) == "assistant":
            return start + 1  # the agent keeps the last answer in words of its own
        return start

    def _is_known(self, message: Any) -> bool:
        return id(message) in self._ids or bool(self._published and message == self._published[-1])

    def _publish(self, given: Sequence[Any], messages: Messages) -> None:
        self._published += given
        self._ids.update(map(id, given))
        self.messages += messages
        self._state.observer.messages_added(messages)

    def _note_result(self, call_id: str, content: str) -> None:
        if call_id not in self._pending:
            return
        if self._latencies:
            ms = self._latencies.popleft()
        else:
            ms = (time.perf_counter() - self._answered_at) * 1000
        self._record(call_id, ms, content)

    def _record(
        self, call_id: str, ms: float, result: Any, raised: BaseException | None = None
    ) -> None:
        name = self._pending.pop(call_id, "tool")
        error = self._failures.pop(call_id, None)
        if raised is not None:
            error = f"{type(raised).__name__}: {raised}"
        record = ToolRecord(id=call_id, name=name, ms=ms, error=error)
        if raised is not None:
            record["traceback"] = traceback_text(raised)
        self._state.tool_log.append(record)
        self._state.observer.tool_finished(record, result)


def _role(message: Any) -> Any:
    return message.get("role") if hasattr(message, "get") else None


CURRENT_CONVERSATION: ContextVar[Conversation | None] = ContextVar("conversation", default=None)
"""The conversation of the rollout that runs in this task."""


def without_prompt(messages: Messages, prompt: Messages) -> Messages:
    """A conversation after its prompt; all of it where it does not begin with the prompt."""
    length = len(prompt)
    same = [(one.role, one.content) for one in messages[:length]]
    return messages[length:] if same == [(one.role, one.content) for one in prompt] else messages


def to_dicts(messages: Messages) -> list[dict[str, Any]]:
    """A conversation in the shape that agents and eval functions know."""
    return [to_dict(message) for message in messages]


def to_dict(message: Any) -> dict[str, Any]:
    """One message as OpenAI's chat completions have it; what is empty is left out."""
    found = {key: value for key, value in message.model_dump().items() if value is not None}
    wire: dict[str, Any] = {"role": found.pop("role"), "content": found.pop("content", None)}
    if calls := found.pop("tool_calls", None):
        wire["tool_calls"] = [_to_call(call) for call in calls]
    return {**wire, **found}


def _to_call(call: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in call.items() if key not in ("id", "name", "arguments")}
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": function, **rest}

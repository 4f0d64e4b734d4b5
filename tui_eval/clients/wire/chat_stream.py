"""A streamed chat completion put together: the answer that would have come whole."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_stream import AnswerStream, OnText, more_logprobs, silence
from tui_eval.clients.wire.answer_struct import copy_known
from tui_eval.clients.wire.chat_answer import (
    ChatAnswer,
    ChatChoice,
    ChatFunction,
    ChatMessage,
    ChatToolCall,
    thought_in_part,
)
from tui_eval.clients.wire.finish_reasons import is_no_reason


class CallDelta(ChatToolCall):
    """More of one tool call; endpoints that send calls whole may leave out its index."""

    index: int | None = None
    type: str | None = None


class Delta(ChatMessage):
    """The addition of a chunk to the message."""

    role: str | None = None
    tool_calls: list[CallDelta] | None = None


class ChunkChoice(ChatChoice):
    """The addition of a chunk to a choice; some endpoints send a whole message at the end."""

    delta: Delta | None = None


class ChatChunk(ChatAnswer):
    """One event of the stream."""

    choices: list[ChunkChoice] | None = None


_TOP = ("id", "created", "model", "usage", "system_fingerprint", "service_tier",
        "prompt_token_ids")  # fmt: skip
_LATEST = ("routed_experts", "error")
_TEXTS = {
    "reasoning": "reasoning",
    "reasoning_content": "reasoning",
    "content": "text",
    "refusal": "text",
}
_BLOCKS = ("reasoning_details", "thinking_blocks")
_JOINED = ("text", "summary", "data", "thinking")
"""Fields of a block of reasoning that come in parts."""


class ChatStream(AnswerStream):
    """Chunks of one answer, put together; the text of the first choice is streamed."""

    EVENT = ChatChunk
    COUNTS_ON_REQUEST = True

    def __init__(self, on_text: OnText, url: Any = "the endpoint") -> None:
        super().__init__(on_text, url)
        self._answer = ChatAnswer()
        self._choices: dict[int, _Choice] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every choice that began has said why it ended."""
        choices = self._choices.values()
        return bool(choices) and all(one.choice.finish_reason for one in choices)

    def is_foreign(self, event: ChatChunk) -> bool:
        """Whether a chunk has neither choices nor tokens."""
        return event.choices is None and event.usage is None

    def add(self, chunk: ChatChunk) -> None:
        """Takes in the next chunk."""
        copy_known(self._answer, chunk, _TOP)
        for choice in chunk.choices or ():
            place = choice.index or 0
            if place not in self._choices:
                on_text = silence if self._choices else self._on_text
                self._choices[place] = _Choice(place, on_text)
            self._choices[place].add(choice)

    def answer(self) -> ChatAnswer:
        """The answer so far."""
        self._answer.choices = [one.whole() for _, one in sorted(self._choices.items())] or None
        return self._answer


class _Choice:
    """One choice; parts of texts are joined at the end, so that long ones cost no more."""

    def __init__(self, place: int, on_text: OnText) -> None:
        self.message = ChatMessage()
        self.choice = ChatChoice(index=place, message=self.message)
        self._on_text = on_text
        self._texts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._blocks: dict[str, list[dict[str, Any]]] = {}

    def add(self, chunk: ChunkChoice) -> None:
        choice = self.choice
        copy_known(choice, chunk, _LATEST)
        if not is_no_reason(chunk.finish_reason):
            choice.finish_reason = chunk.finish_reason
        if chunk.token_ids is not None:
            choice.token_ids = [*(choice.token_ids or ()), *chunk.token_ids]
        if chunk.logprobs is not None:
            choice.logprobs = more_logprobs(choice.logprobs, chunk.logprobs)
        if chunk.delta is not None:
            self._add_delta(chunk.delta)
        elif chunk.message is not None:
            choice.message = chunk.message

    def _add_delta(self, delta: Delta) -> None:
        if delta.role:
            self.message.role = delta.role
        received: set[str] = set()
        for name, kind in _TEXTS.items():
            value = getattr(delta, name)
            if value is None:
                continue
            if isinstance(value, list):
                self._add_thoughts(value)
            text = _plain_text(value)
            self._texts.setdefault(name, []).append(text)
            # Some endpoints say the same reasoning under two names.
            if text and kind not in received:
                received.add(kind)
                self._on_text(kind, text)
        for name in _BLOCKS:
            for block in getattr(delta, name) or ():
                if isinstance(block, dict):
                    self._add_block(self._blocks.setdefault(name, []), block)
        for call in delta.tool_calls or ():
            self._add_call(call)

    def _add_thoughts(self, parts: list[Any]) -> None:
        thoughts = "".join(map(thought_in_part, parts))
        if thoughts:
            self._texts.setdefault("reasoning_content", []).append(thoughts)
            self._on_text("reasoning", thoughts)

    @staticmethod
    def _add_block(blocks: list[dict[str, Any]], block: dict[str, Any]) -> None:
        last = blocks[-1] if blocks else None
        if last is None or _is_another(block, last):
            blocks.append({name: value for name, value in block.items() if value is not None})
            return
        for name, value in block.items():
            before = last.get(name)
            if name in _JOINED and isinstance(before, str) and isinstance(value, str):
                last[name] = before + value
            elif value is not None:
                last[name] = value

    def _add_call(self, delta: CallDelta) -> None:
        call = self._call_of(delta)
        if call is None:
            call = _Call(delta.index, delta.id)
            if self._calls:
                self._on_text("tool", "\n")
            self._calls.append(call)
        reported = call.add(delta)
        if reported:
            self._on_text("tool", reported)

    def _call_of(self, delta: CallDelta) -> _Call | None:
        """The call that a delta continues; None where it begins one."""
        for call in reversed(self._calls):
            if delta.index is None or call.index == delta.index:
                # Some endpoints number every call 0, and send each whole with an id of its own.
                is_other = delta.id and call.id and delta.id != call.id
                return None if is_other else call
        return None

    def whole(self) -> ChatChoice:
        for name, parts in self._texts.items():
            setattr(self.message, name, "".join(parts))
        for name, blocks in self._blocks.items():
            setattr(self.message, name, blocks)
        if self._calls:
            self.message.tool_calls = [call.whole() for call in self._calls]
        return self.choice


class _Call:
    """One tool call."""

    def __init__(self, index: int | None, call_id: str | None) -> None:
        self.index = index
        self.id = call_id
        self._type: str | None = "function"
        self._extra: Any = None
        self._name: str | None = None
        self._arguments: list[str] = []
        self._data: Any = None

    def add(self, delta: CallDelta) -> str:
        """Takes in more of the call; returns the text that it adds."""
        self.id = self.id or delta.id
        self._type = delta.type or self._type
        if delta.extra_content is not None:
            self._extra = delta.extra_content
        function = delta.function
        if function is None:
            return ""
        reported = ""
        if function.name and function.name != self._name:
            self._name = (self._name or "") + function.name
            reported = function.name + " "
        if isinstance(function.arguments, str):
            self._arguments.append(function.arguments)
            reported += function.arguments
        elif function.arguments is not None:
            self._data = function.arguments
        return reported

    def whole(self) -> ChatToolCall:
        arguments: Any = "".join(self._arguments)
        if not arguments and self._data is not None:
            arguments = self._data
        function = ChatFunction(self._name, arguments)
        return ChatToolCall(self.id, self._type, function, self._extra)


def _is_another(block: dict[str, Any], last: dict[str, Any]) -> bool:
    """Whether a block of reasoning begins again after the last; LiteLLM's have no numbers."""
    if any(last.get(key) != block.get(key) for key in ("type", "index", "id")):
        return True
    is_signed = last.get("signature") and block.get("thinking")
    return bool(is_signed) or block.get("type") == "redacted_thinking"


def _plain_text(value: Any) -> str:
    """The text of a delta; some endpoints send content parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))

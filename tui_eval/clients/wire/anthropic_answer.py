"""A message as it comes from Anthropic's API, with the attribute names of its SDK."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_stream import AnswerStream, OnText
from tui_eval.clients.wire.answer_struct import AnswerStruct, copy_known, decode_answer
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS
from tui_eval.errors import InvalidModelResponseError


class AnthropicBlock(AnswerStruct):
    """A block of any kind; `type` says which of the other fields are set."""

    type: str
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    citations: Any = None


class AnthropicUsage(AnswerStruct):
    """Tokens of one answer; cached input is counted apart from `input_tokens`."""

    input_tokens: Any = None
    output_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None
    output_tokens_details: Any = None


class AnthropicAnswer(AnswerStruct):
    """One message of the model."""

    id: str | None = None
    type: str | None = "message"
    role: str | None = "assistant"
    model: str | None = None
    content: list[AnthropicBlock] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: AnthropicUsage | None = None
    error: Any = None

    def is_sound(self) -> bool:
        """See `AnswerStruct`."""
        return self.error is None and bool(self.content) and self.stop_reason in FINISH_REASONS


_TEXTS = ("text", "thinking", "partial_json")
_KINDS = {"text": "text", "thinking": "reasoning", "tool_use": "tool"}
"""The streamed part of blocks of these types."""
_USAGE = AnthropicUsage.__struct_fields__
_ENDED = ("stop_reason", "stop_sequence")


class AnthropicDelta(AnswerStruct):
    """The addition of an event to a block, or to the message."""

    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    citation: Any = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class AnthropicEvent(AnswerStruct):
    """One event of the stream; `type` says which of the other fields are set."""

    type: str = ""
    message: AnthropicAnswer | None = None
    index: int | None = 0
    content_block: AnthropicBlock | None = None
    delta: AnthropicDelta | None = None
    usage: AnthropicUsage | None = None
    error: Any = None


class AnthropicStream(AnswerStream):
    """Events of one message, put together; see `AnswerStream`."""

    EVENT = AnthropicEvent

    def __init__(self, on_text: OnText, url: Any = "the endpoint") -> None:
        super().__init__(on_text, url)
        self._answer = AnthropicAnswer()
        self._blocks: list[_Block] = []
        self._at: dict[int | None, _Block] = {}

    @property
    def is_whole(self) -> bool:
        """Whether the message has said why it stopped, behind all of its blocks."""
        return self._answer.stop_reason is not None

    def add(self, event: AnthropicEvent) -> None:
        """Takes in the next event."""
        if event.type == "message_start" and event.message is not None:
            self._answer = event.message
        elif event.type == "content_block_start" and event.content_block is not None:
            self._begin(event.index, event.content_block)
        elif event.type == "content_block_delta" and event.delta is not None:
            self._add_delta(event.index, event.delta)
        elif event.type == "message_delta":
            self._add_to_message(event)
        elif event.type == "message_stop":
            self.is_over = True

    def _begin(self, index: int | None, given: AnthropicBlock) -> None:
        block = self._at[index] = _Block(given)
        if given.type == "tool_use":
            is_first = all(one.block.type != given.type for one in self._blocks)
            self._on_text("tool", f"{'' if is_first else chr(10)}{given.name or ''} ")
        self._blocks.append(block)
        self._publish(block, given.text or given.thinking)

    def _add_delta(self, index: int | None, delta: AnthropicDelta) -> None:
        block = self._at.get(index)
        if block is None:
            text = f"{self._url} continues block {index}, which has not begun"
            raise InvalidModelResponseError(text)
        self._publish(block, block.add(delta))

    def _publish(self, block: _Block, text: str | None) -> None:
        kind = _KINDS.get(block.block.type)
        if text and kind is not None:
            self._on_text(kind, text)

    def _add_to_message(self, event: AnthropicEvent) -> None:
        if event.delta is not None:
            copy_known(self._answer, event.delta, _ENDED)
        if event.usage is not None:
            self._answer.usage = self._answer.usage or AnthropicUsage()
            copy_known(self._answer.usage, event.usage, _USAGE)

    def answer(self) -> AnthropicAnswer:
        """The message so far."""
        self._answer.content = [block.whole() for block in self._blocks]
        return self._answer


class _Block:
    """One block; parts of texts are joined at the end, so that long ones cost no more."""

    def __init__(self, block: AnthropicBlock) -> None:
        self.block = block
        self._texts: dict[str, list[str]] = {}

    def add(self, delta: AnthropicDelta) -> str:
        """Takes in more of the block; returns the text that it adds."""
        added = ""
        for name in _TEXTS:
            text = getattr(delta, name)
            if text is not None:
                self._texts.setdefault(name, []).append(text)
                added += text
        if delta.signature is not None:
            self.block.signature = delta.signature
        if delta.citation is not None:
            self.block.citations = [*(self.block.citations or ()), delta.citation]
        return added

    def whole(self) -> AnthropicBlock:
        block = self.block
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        if "text" in texts:
            block.text = (block.text or "") + texts["text"]
        if "thinking" in texts:
            block.thinking = (block.thinking or "") + texts["thinking"]
        if texts.get("partial_json"):
            block.input = _arguments(texts["partial_json"])
        return block


def _arguments(text: str) -> Any:
    """Arguments from JSON; as the text that they are where they were cut off."""
    try:
        return decode_answer(text.encode(errors="surrogatepass"), Any)
    except ValueError:
        return text

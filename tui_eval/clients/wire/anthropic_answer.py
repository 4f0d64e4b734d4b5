"""A message as it comes from Anthropic's API, with the attribute names of its SDK."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS


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

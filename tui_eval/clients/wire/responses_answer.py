"""A response as it comes over the wire, with the attribute names of OpenAI's SDK."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.chat_answer import CompletionTokens, PromptTokens
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS


class IncompleteDetails(AnswerStruct):
    """Why an answer ended early."""

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

"""A text completion as it comes over the wire, with the attribute names of OpenAI's SDK."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.chat_answer import ChatUsage
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS


class CompletionChoice(AnswerStruct):
    """One of the answers; there should be one."""

    index: int | None = 0
    text: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None
    routed_experts: Any = None
    error: Any = None


class CompletionAnswer(AnswerStruct):
    """One text completion; fields that OpenAI does not have are vLLM's."""

    id: str | None = None
    created: float | None = None
    model: str | None = None
    choices: list[CompletionChoice] | None = None
    usage: ChatUsage | None = None
    system_fingerprint: str | None = None
    error: Any = None

    def is_sound(self) -> bool:
        """See `AnswerStruct`."""
        choices = self.choices
        if self.error is not None or choices is None or len(choices) != 1:
            return False
        return choices[0].error is None and choices[0].finish_reason in FINISH_REASONS

"""A chat completion as it comes over the wire, with the attribute names of OpenAI's SDK.

Types are as wide as what endpoints really send: numbers that are null, ids that are missing,
arguments that are objects.
"""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS


class ChatFunction(AnswerStruct):
    """The function that a tool call names."""

    name: str | None = None
    arguments: Any = None


class ChatToolCall(AnswerStruct):
    """One call that the model asks for."""

    id: str | None = None
    type: str | None = "function"
    function: ChatFunction | None = None
    extra_content: Any = None


class ChatMessage(AnswerStruct):
    """The message of a choice."""

    role: str | None = "assistant"
    content: Any = None
    refusal: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    reasoning_details: Any = None
    tool_calls: list[ChatToolCall] | None = None
    thinking_blocks: Any = None


class ChatChoice(AnswerStruct):
    """One of the answers; there should be one."""

    index: int | None = 0
    message: ChatMessage | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    token_ids: list[int] | None = None
    routed_experts: Any = None
    error: Any = None


class PromptTokens(AnswerStruct):
    """What the input tokens were."""

    cached_tokens: Any = None
    cache_write_tokens: Any = None
    cache_creation_tokens: Any = None
    audio_tokens: Any = None


class CompletionTokens(AnswerStruct):
    """What the output tokens were spent on."""

    reasoning_tokens: Any = None
    audio_tokens: Any = None


class ChatUsage(AnswerStruct):
    """Tokens of one answer; the last ones are DeepSeek's, Moonshot's and LiteLLM's.

    Servers say numbers as text, as fractions or as nonsense: `wire.numbers` reads them.
    """

    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_tokens_details: PromptTokens | None = None
    completion_tokens_details: CompletionTokens | None = None
    prompt_cache_hit_tokens: Any = None
    cached_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None

    @property
    def has_no_kinds(self) -> bool:
        """Whether nothing is reported but how many tokens there were, which is the ordinary."""
        return (
            self.prompt_tokens_details is None
            and self.completion_tokens_details is None
            and self.prompt_cache_hit_tokens is None
            and self.cached_tokens is None
            and self.cache_read_input_tokens is None
            and self.cache_creation_input_tokens is None
        )


class ChatAnswer(AnswerStruct):
    """One chat completion; fields that OpenAI does not have are other servers'."""

    id: str | None = None
    created: float | None = None
    model: str | None = None
    choices: list[ChatChoice] | None = None
    usage: ChatUsage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    prompt_token_ids: list[int] | None = None
    error: Any = None

    def is_sound(self) -> bool:
        """See `AnswerStruct`."""
        choices = self.choices
        if self.error is not None or choices is None or len(choices) != 1:
            return False
        return choices[0].error is None and choices[0].finish_reason in FINISH_REASONS

"""A chunk of a streamed chat completion as it comes over the wire."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.chat_answer import ChatFunction, ChatMessage, ChatUsage


class CallDelta(AnswerStruct):
    """More of one tool call; endpoints that send calls whole may leave out its index."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: ChatFunction | None = None
    extra_content: Any = None


class Delta(AnswerStruct):
    """What a chunk adds to the message."""

    role: str | None = None
    content: Any = None
    refusal: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    reasoning_details: Any = None
    tool_calls: list[CallDelta] | None = None
    thinking_blocks: Any = None


class ChunkChoice(AnswerStruct):
    """What a chunk adds to a choice; some endpoints send a whole message at the end."""

    index: int | None = 0
    delta: Delta | None = None
    message: ChatMessage | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    token_ids: list[int] | None = None
    routed_experts: Any = None
    error: Any = None


class ChatChunk(AnswerStruct):
    """One event of the stream."""

    id: str | None = None
    created: float | None = None
    model: str | None = None
    choices: list[ChunkChoice] | None = None
    usage: ChatUsage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    prompt_token_ids: list[int] | None = None
    error: Any = None

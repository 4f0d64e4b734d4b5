"""A chat completion as it comes over the wire, named as in OpenAI's SDK, and in our types.

Types are as wide as what endpoints really send: numbers that are null, ids that are missing,
arguments that are objects.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from tui_eval.clients.faults import error_instead
from tui_eval.clients.wire.answer_struct import AnswerStruct, as_data, response_tokens
from tui_eval.clients.wire.failed_answers import check_sdk_answer
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS, finish_reason, is_known
from tui_eval.clients.wire.replayed import is_detail, is_thinking
from tui_eval.clients.wire.usage import ChatUsage, from_chat_usage
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import ToolCall
from tui_eval.types import Response, ResponseMessage, ResponseTokens


class ChatFunction(AnswerStruct):
    """The function that a tool call names."""

    name: str | None = None
    arguments: Any = None


class ChatToolCall(AnswerStruct):
    """One call that the model requests."""

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
    tool_calls: Sequence[ChatToolCall] | None = None
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


class ChatAnswer(AnswerStruct):
    """One chat completion; fields that OpenAI does not have are other servers'."""

    id: str | None = None
    created: float | None = None
    model: str | None = None
    choices: Sequence[ChatChoice] | None = None
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


_REASONING = ("reasoning", "reasoning_content", "reasoning_details")


def check_chat_answer(answer: Any) -> None:
    """Refuses what is not exactly one answer, of ours or the SDK's.

    Raises:
        ReportedError: It says that the call failed, with a status.
        InvalidModelResponseError: None or several choices, or no message.
        EmptyModelResponseError: Nothing in it, and no reason why it ended.
    """
    check_sdk_answer(answer)
    choices = getattr(answer, "choices", None)
    if not choices or len(choices) != 1:
        number = f"the answer has {len(choices or [])} choices instead of one"
        raise InvalidModelResponseError(error_instead(answer, "chat completion") or number)
    reason = choices[0].finish_reason
    if is_known(reason):
        return
    message = choices[0].message
    if message is None:
        raise InvalidModelResponseError("the answer's choice has no message")
    blocks = _blocks(message)
    if not (_text(message) or _reasoning(message, blocks) or message.tool_calls or blocks):
        raise EmptyModelResponseError(
            f"the answer has no text, reasoning or tool calls (finish reason: {reason})"
        )


def from_chat_answer(answer: Any) -> Response:
    """A checked answer, ours or the SDK's, in our types.

    A refusal is the text of an answer that has no other. Log probabilities that were requested are
    in the message's `logprobs`, as the endpoint gave them; `tokens` is there where the endpoint
    says ids too.
    """
    choice = answer.choices[0]
    message = choice.message or ChatMessage()
    reason = finish_reason(choice.finish_reason)
    content, blocks = _text(message), _blocks(message)
    refusal = getattr(message, "refusal", None)
    if refusal:
        content = content or refusal
        reason = "refusal" if reason in ("stop", None) else reason
    answer_id = answer.id or ""
    calls = [
        _from_chat_call(call, answer_id, place)
        for place, call in enumerate(message.tool_calls or ())
    ]
    if content is None and not calls:
        content = ""
    logprobs = as_data(choice.logprobs)
    kept = {} if logprobs is None else {"logprobs": logprobs}
    return Response(
        id=answer_id,
        created=int(answer.created or time.time()),
        model=answer.model or "",
        usage=from_chat_usage(answer.usage),
        message=ResponseMessage(
            content=content,
            reasoning_content=_reasoning(message, blocks),
            thinking_blocks=blocks or None,
            tool_calls=calls or None,
            finish_reason=reason,
            is_truncated=reason == "length",
            tokens=_tokens(answer, choice, logprobs),
            **kept,
        ),
    )


def _tokens(answer: Any, choice: Any, logprobs: Any) -> ResponseTokens | None:
    prompt_ids = getattr(answer, "prompt_token_ids", None)
    if prompt_ids is None:
        return None
    reported = (logprobs or {}).get("content") or ()
    return response_tokens(
        prompt_ids,
        getattr(choice, "token_ids", None),
        [token["logprob"] for token in reported],
        getattr(choice, "routed_experts", None),
    )


def _from_chat_call(call: Any, answer_id: str, place: int) -> ToolCall:
    function = call.function
    if function is None or not function.name:
        raise InvalidModelResponseError(f"tool call {place + 1} of the answer names no function")
    arguments = function.arguments
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments if arguments is not None else {})
    extra = getattr(call, "extra_content", None)
    return ToolCall(
        id=call.id or f"{answer_id}-{place}",
        name=function.name,
        arguments=arguments,
        **({} if extra is None else {"extra_content": extra}),
    )


def _text(message: Any) -> str | None:
    content: str | list[Any] | None = message.content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        content = "".join(text for text in texts if isinstance(text, str))
    return content


def _reasoning(message: Any, blocks: list[dict[str, Any]]) -> str | None:
    for name in _REASONING:
        value = getattr(message, name, None)
        if value and isinstance(value, str):
            return value
    if not blocks and not isinstance(message.content, list):
        return None
    thoughts = [_thought(block) for block in blocks]
    if isinstance(message.content, list):
        thoughts += map(thought_in_part, message.content)
    return "".join(thoughts) or None


def _thought(block: dict[str, Any]) -> str:
    return str(block.get("text") or block.get("thinking") or "")


def thought_in_part(part: Any) -> str:
    """The reasoning in a part of a content, as Mistral's models say it; "" where it is other."""
    if not isinstance(part, dict) or part.get("type") != "thinking":
        return ""
    reported = part.get("thinking")
    if isinstance(reported, list):
        return "".join(str(one.get("text") or "") for one in reported if isinstance(one, dict))
    return reported if isinstance(reported, str) else ""


def _blocks(message: Any) -> list[dict[str, Any]]:
    """OpenRouter's `reasoning_details`, or the `thinking_blocks` of LiteLLM."""
    for name in ("reasoning_details", "thinking_blocks"):
        reported = getattr(message, name, None)
        if reported and isinstance(reported, list):
            blocks = (block for block in reported if isinstance(block, dict))
            return [block for block in blocks if is_detail(block) or is_thinking(block)]
    return []

"""Answers of chat completions in our types; nothing here calls anybody."""

from __future__ import annotations

import json
import time
from typing import Any

from tui_eval.clients.faults import what_came_instead
from tui_eval.clients.wire.answer_struct import as_data
from tui_eval.clients.wire.reasoning import is_detail
from tui_eval.clients.wire.token_ids import response_tokens
from tui_eval.clients.wire.usage import from_chat_usage
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import ToolCall
from tui_eval.types import (
    FinishReason,
    Response,
    ResponseMessage,
    ResponseTokens,
)

FINISH_REASONS: dict[str | None, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
}
_REASONING = ("reasoning", "reasoning_content", "reasoning_details")


def check_chat_answer(answer: Any) -> None:
    """Refuses what is not exactly one answer with something in it.

    Args:
        answer: A `ChatAnswer` or the SDK's `ChatCompletion`.

    Raises:
        InvalidModelResponseError: None or several choices, or no message.
        EmptyModelResponseError: Neither text, nor reasoning, nor tool calls.
    """
    choices = getattr(answer, "choices", None)
    if not choices or len(choices) != 1:
        number = f"the answer has {len(choices or [])} choices instead of one"
        raise InvalidModelResponseError(what_came_instead(answer, "chat completion") or number)
    message = choices[0].message
    if message is None:
        raise InvalidModelResponseError("the answer's choice has no message")
    said = _text(message) or _reasoning(message) or message.tool_calls or _details(message)
    if not said:
        reason = choices[0].finish_reason
        raise EmptyModelResponseError(
            f"the answer has no text, reasoning or tool calls (finish reason: {reason})"
        )


def from_chat_answer(answer: Any) -> Response:
    """A checked answer, ours or the SDK's, in our types.

    Log probabilities that were asked for are in the message's `logprobs`, as the endpoint gave
    them; `tokens` is there where the endpoint tells ids too.
    """
    choice = answer.choices[0]
    message = choice.message
    reason = choice.finish_reason
    answer_id = answer.id or ""
    calls = [
        _from_chat_call(call, answer_id, place)
        for place, call in enumerate(message.tool_calls or ())
    ]
    logprobs = as_data(choice.logprobs)
    kept = {} if logprobs is None else {"logprobs": logprobs}
    return Response(
        id=answer_id,
        created=int(answer.created or time.time()),
        model=answer.model or "",
        usage=from_chat_usage(answer.usage),
        message=ResponseMessage(
            content=_text(message),
            reasoning_content=_reasoning(message),
            thinking_blocks=_details(message) or None,
            tool_calls=calls or None,
            finish_reason=FINISH_REASONS.get(reason),
            is_truncated=reason == "length",
            tokens=_tokens(answer, choice, logprobs),
            **kept,
        ),
    )


def _tokens(answer: Any, choice: Any, logprobs: Any) -> ResponseTokens | None:
    prompt_ids = getattr(answer, "prompt_token_ids", None)
    if prompt_ids is None:
        return None
    told = (logprobs or {}).get("content") or ()
    return response_tokens(
        prompt_ids,
        getattr(choice, "token_ids", None),
        [token["logprob"] for token in told],
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
    if content is None:
        refusal: str | None = getattr(message, "refusal", None)
        return refusal
    return content


def _reasoning(message: Any) -> str | None:
    for name in _REASONING:
        value = getattr(message, name, None)
        if isinstance(value, str) and value:
            return value
    return "".join(str(block.get("text") or "") for block in _details(message)) or None


def _details(message: Any) -> list[dict[str, Any]]:
    details = getattr(message, "reasoning_details", None)
    if not isinstance(details, list):
        return []
    return [block for block in details if isinstance(block, dict) and is_detail(block)]

"""OpenAI's text completions in our types and ours in theirs; nothing here calls anybody."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.clients.faults import what_came_instead
from tui_eval.clients.sampling import CallOptions, split_sampling
from tui_eval.clients.wire.answer_struct import as_data
from tui_eval.clients.wire.failed_answers import check_sdk_answer
from tui_eval.clients.wire.finish_reasons import finish_reason, is_known
from tui_eval.clients.wire.token_ids import response_tokens
from tui_eval.clients.wire.usage import from_chat_usage
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import AssistantMessage, to_message
from tui_eval.types import Response, ResponseMessage, ResponseTokens


def to_completion_prompt(messages: Sequence[Any]) -> str:
    """The texts of all messages with an empty line between; a single text as it is.

    Raises:
        ValueError: A message holds what is no text: an image, sound, a tool call.
    """
    texts = [_text_of(to_message(message), place) for place, message in enumerate(messages, 1)]
    return "\n\n".join(text for text in texts if text is not None)


def _text_of(message: Any, place: int) -> str | None:
    if isinstance(message, AssistantMessage) and message.tool_calls:
        raise _unsendable("tool calls", place)
    if not isinstance(message.content, list):
        text: str | None = message.content
        return text
    for part in message.content:
        if part.get("type") != "text":
            raise _unsendable(f"a part of type {part.get('type')!r}", place)
    return "".join(str(part["text"]) for part in message.content)


def _unsendable(what: str, place: int) -> ValueError:
    return ValueError(
        f"message {place} holds {what}, and text completions take text only; "
        "use a chat endpoint (client type openai_chat_completions)"
    )


def to_completion_body(
    prompt: str, model: str, sampling_args: Mapping[str, Any]
) -> tuple[dict[str, Any], CallOptions]:
    """The whole request body.

    Raises:
        ValueError: A sampling argument asks for what cannot be had.
    """
    sampling, extra_body, options = split_sampling(sampling_args)
    limit = sampling.pop("max_completion_tokens", None)
    if limit is not None:
        sampling.setdefault("max_tokens", limit)
    if isinstance(sampling.get("logprobs"), bool):
        wanted, number = sampling.pop("logprobs"), sampling.pop("top_logprobs", 1)
        if wanted:
            sampling["logprobs"] = number
    body = {"model": model, "prompt": prompt, "stream": False, **sampling, **extra_body}
    return body, options


def check_completion_answer(answer: Any) -> None:
    """Refuses what is not exactly one answer.

    Args:
        answer: A `CompletionAnswer` or the SDK's `Completion`.

    Raises:
        ReportedError: It says that the call failed, with a status.
        InvalidModelResponseError: None or several choices.
        EmptyModelResponseError: No text, and no reason why it ended.
    """
    check_sdk_answer(answer)
    choices = getattr(answer, "choices", None)
    if not choices or len(choices) != 1:
        number = f"the answer has {len(choices or [])} choices instead of one"
        raise InvalidModelResponseError(what_came_instead(answer, "text completion") or number)
    reason = choices[0].finish_reason
    if not (is_known(reason) or choices[0].text):
        raise EmptyModelResponseError(f"the answer has no text (finish reason: {reason})")


def from_completion_answer(answer: Any) -> Response:
    """A checked answer, ours or the SDK's, in our types.

    Log probabilities that were requested are in the message's `logprobs`, as the endpoint gave
    them; `tokens` is there where the endpoint says ids too.
    """
    choice = answer.choices[0]
    reason = finish_reason(choice.finish_reason)
    logprobs = as_data(choice.logprobs)
    kept = {} if logprobs is None else {"logprobs": logprobs}
    return Response(
        id=answer.id or "",
        created=int(answer.created or time.time()),
        model=answer.model or "",
        usage=from_chat_usage(answer.usage),
        message=ResponseMessage(
            content=choice.text or "",
            finish_reason=reason,
            is_truncated=reason == "length",
            tokens=_tokens(choice, logprobs),
            **kept,
        ),
    )


def _tokens(choice: Any, logprobs: Any) -> ResponseTokens | None:
    prompt_ids = getattr(choice, "prompt_token_ids", None)
    if prompt_ids is None:
        return None
    reported = (logprobs or {}).get("token_logprobs") or ()
    experts = getattr(choice, "routed_experts", None)
    return response_tokens(prompt_ids, getattr(choice, "token_ids", None), reported, experts)

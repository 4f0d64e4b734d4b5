"""OpenAI's text completions as they come over the wire, in our types and ours in theirs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.clients.faults import error_instead
from tui_eval.clients.sampling import CallOptions, split_sampling
from tui_eval.clients.wire.answer_stream import AnswerStream, OnText, more_logprobs
from tui_eval.clients.wire.answer_struct import AnswerStruct, as_data, copy_known, response_tokens
from tui_eval.clients.wire.failed_answers import check_sdk_answer
from tui_eval.clients.wire.finish_reasons import (
    FINISH_REASONS,
    finish_reason,
    is_known,
    is_no_reason,
)
from tui_eval.clients.wire.usage import ChatUsage, from_chat_usage
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import AssistantMessage, to_message
from tui_eval.types import Response, ResponseMessage, ResponseTokens


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


_TOP = ("id", "created", "model", "usage", "system_fingerprint")
_LATEST = ("prompt_token_ids", "routed_experts", "error")


class CompletionStream(AnswerStream):
    """Parts of one answer, put together; the text of the first choice is streamed."""

    EVENT = CompletionAnswer
    COUNTS_ON_REQUEST = True

    def __init__(self, on_text: OnText, url: Any = "the endpoint") -> None:
        super().__init__(on_text, url)
        self._answer = CompletionAnswer()
        self._choices: dict[int, CompletionChoice] = {}
        self._texts: dict[int, list[str]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every choice that began has said why it ended."""
        choices = self._choices.values()
        return bool(choices) and all(one.finish_reason for one in choices)

    def is_foreign(self, event: CompletionAnswer) -> bool:
        """Whether a part has neither choices nor tokens."""
        return event.choices is None and event.usage is None

    def add(self, event: CompletionAnswer) -> None:
        """Takes in the next part."""
        copy_known(self._answer, event, _TOP)
        for part in event.choices or ():
            place = part.index or 0
            choice = self._choices.setdefault(place, CompletionChoice(place))
            copy_known(choice, part, _LATEST)
            if not is_no_reason(part.finish_reason):
                choice.finish_reason = part.finish_reason
            if part.token_ids is not None:
                choice.token_ids = [*(choice.token_ids or ()), *part.token_ids]
            if part.logprobs is not None:
                choice.logprobs = more_logprobs(choice.logprobs, part.logprobs)
            if part.text:
                self._texts.setdefault(place, []).append(part.text)
                if place == next(iter(self._choices)):
                    self._on_text("text", part.text)

    def answer(self) -> CompletionAnswer:
        """The answer so far."""
        for place, choice in self._choices.items():
            choice.text = "".join(self._texts.get(place, ()))
        self._answer.choices = [choice for _, choice in sorted(self._choices.items())] or None
        return self._answer


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
    """The whole request body; `ValueError` where an argument requests what cannot be had."""
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
    """Refuses what is not exactly one answer, of ours or the SDK's.

    Raises:
        ReportedError: It says that the call failed, with a status.
        InvalidModelResponseError: None or several choices.
        EmptyModelResponseError: No text, and no reason why it ended.
    """
    check_sdk_answer(answer)
    choices = getattr(answer, "choices", None)
    if not choices or len(choices) != 1:
        number = f"the answer has {len(choices or [])} choices instead of one"
        raise InvalidModelResponseError(error_instead(answer, "text completion") or number)
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

"""Tokens of an answer, as each protocol counts them, in our type.

`prompt_tokens` is all that was read, whatever of it came from a cache or went into one, and
`completion_tokens` all that was written, thoughts included: the same for every protocol. Answers
are ours or the SDK's, whose objects may lack what OpenAI does not have.
"""

from __future__ import annotations

import math
from typing import Any

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.types import Usage

_CACHED = ("cached_tokens", "cache_read_input_tokens")
_CACHED_BESIDE = ("prompt_cache_hit_tokens", *_CACHED)
"""DeepSeek's, Moonshot's and LiteLLM's, beside the details."""
_THOUGHTS = ("reasoning_tokens", "thinking_tokens")
_AUDIO = ("audio_tokens",)
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")


class PromptTokens(AnswerStruct):
    """Kinds of input tokens."""

    cached_tokens: Any = None
    cache_write_tokens: Any = None
    cache_creation_tokens: Any = None
    audio_tokens: Any = None


class CompletionTokens(AnswerStruct):
    """Kinds of output tokens."""

    reasoning_tokens: Any = None
    audio_tokens: Any = None


class ChatUsage(AnswerStruct):
    """Tokens of one answer; the last ones are DeepSeek's, Moonshot's and LiteLLM's.

    Servers say numbers as text, as fractions or as nonsense: `count_of` reads them.
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


def from_chat_usage(usage: Any) -> Usage | None:
    """The tokens of a chat or text completion."""
    if usage is None:
        return None
    if usage.__class__ is ChatUsage and usage.has_no_kinds:
        prompt, completion = count_of(usage.prompt_tokens), count_of(usage.completion_tokens)
        if count_of(usage.total_tokens) <= prompt + completion:
            return Usage(
                prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
            )
    return _from_openai(
        usage,
        count_of(usage.prompt_tokens),
        count_of(usage.completion_tokens),
        getattr(usage, "prompt_tokens_details", None),
        getattr(usage, "completion_tokens_details", None),
    )


def from_responses_usage(usage: Any) -> Usage | None:
    """The tokens of a response."""
    if usage is None:
        return None
    return _from_openai(
        usage,
        count_of(usage.input_tokens),
        count_of(usage.output_tokens),
        getattr(usage, "input_tokens_details", None),
        getattr(usage, "output_tokens_details", None),
    )


def from_anthropic_usage(usage: Any) -> Usage | None:
    """The tokens of a message; the endpoint counts what is cached apart from the input."""
    if usage is None:
        return None
    read = count_of(getattr(usage, "cache_read_input_tokens", 0))
    written = count_of(getattr(usage, "cache_creation_input_tokens", 0))
    prompt = count_of(usage.input_tokens) + read + written
    completion = count_of(usage.output_tokens)
    details = getattr(usage, "output_tokens_details", None)
    if not (read or written or details):
        return Usage(
            prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
        )
    return Usage(
        prompt_tokens=prompt,
        reasoning_tokens=min(_reported(details, _THOUGHTS), completion),
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_prompt_tokens=read,
        cache_write_tokens=written,
    )


def _from_openai(
    usage: Any, prompt: int, completion: int, read_details: Any, written_details: Any
) -> Usage:
    cached = _reported(read_details, _CACHED) or _reported(usage, _CACHED_BESIDE)
    written = _reported(read_details, _WRITTEN) or _reported(usage, _WRITTEN)
    if cached + written > prompt:  # counted apart from the prompt, as Anthropic does
        prompt += cached + written
    thoughts = _reported(written_details, _THOUGHTS)
    hidden = count_of(usage.total_tokens) - prompt - completion
    if hidden > 0:  # Google and xAI count thoughts in the total alone
        completion += hidden
        thoughts = max(thoughts, hidden)
    if not (cached or written or read_details or written_details):
        return Usage(
            prompt_tokens=prompt,
            reasoning_tokens=thoughts,
            completion_tokens=completion,
            total_tokens=prompt + completion,
        )
    return Usage(
        prompt_tokens=prompt,
        reasoning_tokens=min(thoughts, completion),
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_prompt_tokens=cached,
        cache_write_tokens=written,
        audio_prompt_tokens=min(_reported(read_details, _AUDIO), prompt),
        audio_completion_tokens=min(_reported(written_details, _AUDIO), completion),
    )


def _reported(details: Any, names: tuple[str, ...]) -> int:
    """The first count among these that is reported and is not 0."""
    if details is None:
        return 0
    is_plain = isinstance(details, dict)
    for name in names:
        value = details.get(name) if is_plain else getattr(details, name, None)
        if value and (count := count_of(value)):
            return count
    return 0


MOST_TOKENS = 10**9
"""Tokens of one answer; a server that says more does not count them."""
_LONGEST = 40
"""Characters of a number that is sent as text."""


def count_of(value: Any) -> int:
    """A count of tokens; 0 for what is none: negative, endless, no number, or beyond belief."""
    if type(value) is int:
        return value if 0 <= value <= MOST_TOKENS else 0
    if value is None:
        return 0
    number = finite(value)
    return int(number) if number is not None and 0 <= number <= MOST_TOKENS else 0


def finite(value: Any) -> float | None:
    """A finite number, also one that is sent as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _LONGEST:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None

"""Requests that are refused for what the conversation is: too long, or of a kind that is filtered.

One table for all protocols, as a gateway passes on the words of the server behind it: whether a
rollout that outgrew the context is scored must not depend on who serves the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tui_eval.errors import Error, OverlongPromptError, PromptRefusedError

OVERLONG = (
    # codes and types
    "context_length_exceeded",
    "exceed_context_size_error",
    "contextwindowexceedederror",
    "prompt_too_long",
    "tokens_limit_reached",
    "model_max_prompt_tokens_exceeded",
    # OpenAI and what follows it: vLLM, OpenRouter, DeepSeek, Fireworks, llama-cpp-python
    "context length",
    "exceeds the context window",
    "exceed context window",
    "exceeded model",
    "exceed the configured limit",
    "exceeds the configured limit",
    "maximum model length",
    "exceeds the max_model_len",
    "reduce the length of the messages",
    "reduce the length of the input messages",
    # Anthropic and Bedrock
    "prompt is too long",
    "exceed context limit",
    "exceeds context limit",
    "too many total text bytes",
    "input is too long",
    # Google, xAI, llama.cpp, TGI, TensorRT-LLM, Cohere, Moonshot, Qwen, Zhipu, MiniMax, Copilot
    "input token count",
    "maximum prompt length",
    "exceeds the available context size",
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
    "exceeds maximum input length",
    "tokens in the prompt cannot exceed",
    "input token length too long",
    "range of input length should be",
    "prompt exceeds max length",
    "prompt 超长",
    "context window exceeds limit",
    "prompt token count of",
)
"""Phrases for prompts that do not fit into the context, in lower case."""

FILTERED = (
    # codes and types
    "content_filter",
    "content_policy_violation",
    "contentpolicyviolationerror",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "datainspectionfailed",
    "moderation_blocked",
    "guardrail_intervened",
    # Azure, Anthropic, OpenAI, OpenRouter, xAI, Google, Qwen, DeepSeek, Moonshot
    "content management policy",
    "content filtering policy",
    "flagged as potentially violating",
    "rejected as a result of our safety system",
    "your input was flagged",
    "content violates usage guidelines",
    "the prompt was blocked",
    "inappropriate content",
    "content exists risk",
    "considered high risk",
)
"""Phrases for prompts that are refused for what they hold, in lower case."""

_OVERLONG_STATUSES = (400, 413, 422)
_FILTERED_STATUSES = (400, 403, 422, 451)
_OF_A_RATE = ("rate limit", "rate_limit", "per minute", "per day", "(tpm)", "(tpd)")
"""Phrases for limits on tokens a minute, whose words are like those of a full
context.
"""
_CONTEXT = re.compile(r"maximum context length is (\d+)")
_REQUESTED = re.compile(
    r"max_(?:completion_|new_)?tokens\W+(?:or\W+max_\w+\W+)?(?:is too large: |= ?)(\d+)"
    r"|(\d+) (?:tokens )?in the completion"
)


def kind_of_refusal(error: Exception, phrases: Iterable[str] = ()) -> type[Error] | None:
    """The fault of the prompt in a failed call; None where the fault is another.

    Args:
        phrases: Further phrases for overlong prompts, in lower case.
    """
    status = getattr(error, "status_code", None)
    if status not in _OVERLONG_STATUSES and status not in _FILTERED_STATUSES:
        return None
    text = f"{error} {getattr(error, 'body', '')}".lower()
    if status in _OVERLONG_STATUSES and is_overlong(text, phrases):
        return OverlongPromptError
    if status in _FILTERED_STATUSES and _has_any(text, FILTERED):
        return PromptRefusedError
    return None


def is_refused(reported: Any) -> bool:
    """Whether an error that names no status is the refusal of a prompt."""
    text = str(reported).lower()
    return is_overlong(text) or _has_any(text, FILTERED)


def is_overlong(text: str, phrases: Iterable[str] = ()) -> bool:
    """Whether a text in lower case says that a prompt, with its answer, exceeds the context.

    Not where the answer's limit alone does: that is a wrong parameter of every request.
    """
    if not (_has_any(text, OVERLONG) or _has_any(text, phrases)) or _has_any(text, _OF_A_RATE):
        return False
    context, requested = _CONTEXT.search(text), _REQUESTED.search(text)
    return not (context and requested) or int(requested[1] or requested[2]) < int(context[1])


def _has_any(text: str, phrases: Iterable[str]) -> bool:
    return any(phrase in text for phrase in phrases)

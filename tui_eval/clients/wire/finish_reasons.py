"""Reasons why answers end, by the names of every protocol and server.

One table for all, as gateways pass on the words of the server behind them. An answer that says why
it ended is an answer, also an empty one: a limit spent on hidden reasoning, a refusal, a filter.
Only an answer that is empty and says nothing at all is the endpoint's fault.
"""

from __future__ import annotations

from typing import Any

from tui_eval.types import FinishReason

FINISH_REASONS: dict[Any, FinishReason] = {
    # OpenAI's words, and the ends of Anthropic's messages
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "function_call": "tool_calls",
    "completed": "stop",
    "incomplete": "length",
    "max_output_tokens": "length",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
    "pause_turn": None,
    "compaction": None,
    # Google's
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "model_armor": "content_filter",
    "image_safety": "content_filter",
    "language": "content_filter",
    "malformed_function_call": None,
    "unexpected_tool_call": None,
    "other": None,
    # Mistral's, Cohere's, Bedrock's and Zhipu's
    "model_length": "length",
    "complete": "stop",
    "tool_call": "tool_calls",
    "error_limit": "length",
    "error_toxic": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_tool_use": None,
    "malformed_model_output": None,
    "sensitive": "content_filter",
    # Servers of open models
    "eos": "stop",
    "eos_token": "stop",
    "repetition": "length",
}
"""Ours by theirs, in lower case; None for what has no word here."""

FAILURES: dict[Any, int] = {
    "error": 502,
    "failed": 500,
    "abort": 503,
    "aborted": 503,
    "cancelled": 503,
    "network_error": 502,
    "insufficient_system_resource": 503,
    "timeout": 504,
}
"""Reasons that mean that the call failed, by the status that the failure would have had."""

_NOTHING = (None, "", "null", "finish_reason_unspecified")


def finish_reason(reported: Any) -> FinishReason:
    """Our word for what an endpoint says; None where there is none."""
    found = FINISH_REASONS.get(reported)
    return FINISH_REASONS.get(_plain(reported)) if found is None else found


def is_known(reported: Any) -> bool:
    """Whether an endpoint gives a reason why an answer, also an empty one, ended."""
    return reported in FINISH_REASONS or _plain(reported) in FINISH_REASONS


def is_no_reason(reported: Any) -> bool:
    """Whether no reason is given, as in all parts of a stream but the last."""
    return reported in _NOTHING or _plain(reported) in _NOTHING


def failed_status(reported: Any) -> int:
    """The status of the failure that a reason says; 0 for the end of an answer."""
    is_an_end = not isinstance(reported, str) or reported in FINISH_REASONS
    return 0 if is_an_end else FAILURES.get(_plain(reported), 0)


def _plain(reported: Any) -> str | None:
    return reported.lower() if isinstance(reported, str) else None

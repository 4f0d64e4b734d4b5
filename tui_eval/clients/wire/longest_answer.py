"""The limit of an answer's length, as a request has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tui_eval.clients.wire.anthropic_translation import DEFAULT_MAX_TOKENS

LONGEST = ("max_completion_tokens", "max_tokens", "max_output_tokens")
"""Parameters that say how long an answer may be."""
UNRESERVED = (
    "max_tokens is not set, so nothing is reserved for answers: the budget may be overspent by "
    "those of the calls in flight"
)


def longest_answer(sampling_args: Mapping[str, Any], default: int = 0) -> int:
    """Tokens of the longest answer that a call may get; the default where it does not say."""
    for name in LONGEST:
        limit = sampling_args.get(name)
        if type(limit) is int and limit > 0:
            return limit
    return default


def longest_by_default(client_type: str) -> int:
    """Tokens of the longest answer where a call does not say it; 0 for any."""
    return DEFAULT_MAX_TOKENS if client_type == "anthropic_messages" else 0


class LongestAnswers:
    """Tokens to reserve for calls; says once where there is nothing to.

    Args:
        default: Tokens of the longest answer of a call that does not say it; 0 for any.
    """

    def __init__(self, default: int, warn: Callable[[str], None]) -> None:
        self._default = default
        self._warn = warn
        self._has_warned = False

    def __call__(self, sampling_args: Mapping[str, Any]) -> int:
        """Tokens to reserve for a call."""
        tokens = longest_answer(sampling_args, self._default)
        if not tokens and not self._has_warned:
            self._has_warned = True
            self._warn(UNRESERVED)
        return tokens

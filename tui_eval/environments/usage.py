"""The tokens that one rollout has used."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from tui_eval.token_kinds import Kinds, named, plus
from tui_eval.types import Response, State, StepRecord, TokenUsage, Usage

Counted: TypeAlias = tuple[int, int] | tuple[int, int, Kinds]
"""Tokens read and written, and those of each kind where there are any."""


class UsageTracker:
    """Sums up the tokens of a rollout's model calls; `seen` once an answer told any."""

    def __init__(self) -> None:
        self.seen = False
        self._tokens: dict[str, float] = {"input_tokens": 0.0, "output_tokens": 0.0}
        self.view: Mapping[str, float] = MappingProxyType(self._tokens)

    def add(self, usage: Usage | None) -> Counted:
        """Adds one answer's tokens, and returns them."""
        if usage is None:
            return 0, 0
        self.seen = True
        self._tokens["input_tokens"] += usage.prompt_tokens
        self._tokens["output_tokens"] += usage.completion_tokens
        kinds = kinds_of(usage)
        if not kinds:
            return usage.prompt_tokens, usage.completion_tokens
        return usage.prompt_tokens, usage.completion_tokens, kinds

    def snapshot(self) -> TokenUsage | None:
        """The sums so far, or None where no answer told any."""
        if not self.seen:
            return None
        return TokenUsage(
            input_tokens=self._tokens["input_tokens"], output_tokens=self._tokens["output_tokens"]
        )


def count_usage(state: State, usage: Usage | None) -> Counted:
    """Adds the tokens of an answer to those of its rollout, and returns them."""
    counted: Counted = state["usage_tracker"].add(usage)
    if len(counted) == 3:
        state.token_kinds = plus(state.token_kinds, counted[2])
    return counted


def record_step(state: State, response: Response, started: float, model_ms: float) -> Counted:
    """Adds the record of a model call that was answered, and returns its tokens.

    Args:
        started: When it was sent, in unix seconds.
        model_ms: How long the try took that was answered.
    """
    counted = count_usage(state, response.usage)
    step = StepRecord(
        started=started,
        model_ms=model_ms,
        input_tokens=counted[0],
        output_tokens=counted[1],
        finish_reason=response.message.finish_reason,
    )
    if len(counted) == 3:
        step["token_kinds"] = named(counted[2])
    state.steps.append(step)
    return counted


def kinds_of(usage: Usage) -> Kinds:
    """The tokens of each kind of one answer."""
    cached, written, thoughts = (
        usage.cached_prompt_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    heard, spoken = usage.audio_prompt_tokens, usage.audio_completion_tokens
    if not (cached or written or thoughts or heard or spoken):
        return ()
    return cached, written, thoughts, heard, spoken

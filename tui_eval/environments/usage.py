"""The tokens that one rollout has used."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, TypeAlias

from tui_eval.messages import field_of
from tui_eval.token_kinds import Kinds, named, plus
from tui_eval.types import Response, State, StepRecord, TokenUsage, Usage

Counted: TypeAlias = tuple[int, int, Kinds]
"""Tokens read and written, and those of each kind where there are any."""


class StateUsageTracker:
    """Sums up the tokens of a rollout's model calls, which `usage` shows at any time."""

    def __init__(self) -> None:
        self._seen = False
        self._tokens: dict[str, float] = {"input_tokens": 0.0, "output_tokens": 0.0}
        self._view = MappingProxyType(self._tokens)

    @property
    def usage(self) -> Mapping[str, float]:
        """The sums so far, which cannot be written to; 0 where no answer has reported any."""
        return self._view

    def increment(
        self, input_tokens: float = 0, output_tokens: float = 0, *, mark_seen: bool = True
    ) -> None:
        """Adds tokens of a call that an environment made by itself.

        Args:
            mark_seen: Whether the rollout's usage counts as known from now on.

        Raises:
            ValueError: A number is below 0.
        """
        read, written = float(input_tokens or 0), float(output_tokens or 0)
        if read < 0 or written < 0:
            raise ValueError("a rollout uses 0 tokens or more")
        self._seen = self._seen or mark_seen
        self._tokens["input_tokens"] += read
        self._tokens["output_tokens"] += written

    def increment_from_response(self, response: object) -> None:
        """Adds the tokens of an answer of any SDK; nothing where it does not say."""
        if getattr(response, "usage", None) is not None:
            self.increment(*extract_usage_tokens(response))

    def add(self, usage: Usage | None) -> Counted:
        """Adds one answer's tokens, and returns them."""
        if usage is None:
            return 0, 0, ()
        self._seen = True
        self._tokens["input_tokens"] += usage.prompt_tokens
        self._tokens["output_tokens"] += usage.completion_tokens
        return usage.prompt_tokens, usage.completion_tokens, kinds_of(usage)

    def snapshot(self) -> TokenUsage | None:
        """The sums so far, or None where no answer reported any."""
        if not self._seen:
            return None
        return TokenUsage(
            input_tokens=self._tokens["input_tokens"], output_tokens=self._tokens["output_tokens"]
        )


def usage_tracker(state: State) -> StateUsageTracker:
    """The tracker of a rollout's tokens; a new one for a state without."""
    tracker = state.get("usage_tracker")
    if not isinstance(tracker, StateUsageTracker):
        tracker = state["usage_tracker"] = StateUsageTracker()
        state["usage"] = tracker.usage
    return tracker


def extract_usage_tokens(response: object) -> tuple[int, int]:
    """Tokens read and written of an answer, by either protocol's names; 0 where it does not say."""
    usage = getattr(response, "usage", None)
    for names in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        read, written = (_whole(field_of(usage, name)) for name in names)
        if read or written:
            break
    return read, written


def _whole(value: Any) -> int:
    """A count, 0 or more; 0 for what is no number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(0, int(number)) if isfinite(number) else 0


def count_usage(state: State, usage: Usage | None) -> Counted:
    """Adds the tokens of an answer to those of its rollout, and returns them."""
    counted: Counted = state["usage_tracker"].add(usage)
    if counted[2]:
        state.token_kinds = plus(state.token_kinds, counted[2])
    return counted


def record_step(state: State, response: Response, started: float, model_ms: float) -> Counted:
    """Adds the record of a model call that was answered, and returns its tokens.

    Args:
        started: When it was sent, in unix seconds.
        model_ms: The duration of the try that was answered.
    """
    read, written, kinds = counted = count_usage(state, response.usage)
    step = StepRecord(
        started=started,
        model_ms=model_ms,
        input_tokens=read,
        output_tokens=written,
        finish_reason=response.message.finish_reason,
    )
    if kinds:
        step["token_kinds"] = named(kinds)
    state.steps.append(step)
    return counted


def kinds_of(usage: Usage) -> Kinds:
    """The tokens of each kind of one answer."""
    cached, written, thoughts = (
        usage.cached_prompt_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    received, spoken = usage.audio_prompt_tokens, usage.audio_completion_tokens
    if not (cached or written or thoughts or received or spoken):
        return ()
    return cached, written, thoughts, received, spoken

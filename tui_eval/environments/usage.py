"""The tokens that one rollout has used."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tui_eval.types import TokenUsage, Usage


class UsageTracker:
    """Sums up the tokens of a rollout's model calls; `seen` once an answer told any."""

    def __init__(self) -> None:
        self.seen = False
        self._tokens: dict[str, float] = {"input_tokens": 0.0, "output_tokens": 0.0}
        self.view: Mapping[str, float] = MappingProxyType(self._tokens)

    def add(self, usage: Usage | None) -> tuple[int, int]:
        """Adds one answer's tokens, and returns them as (input, output)."""
        if usage is None:
            return 0, 0
        self.seen = True
        self._tokens["input_tokens"] += usage.prompt_tokens
        self._tokens["output_tokens"] += usage.completion_tokens
        return usage.prompt_tokens, usage.completion_tokens

    def snapshot(self) -> TokenUsage | None:
        """The sums so far, or None where no answer told any."""
        if not self.seen:
            return None
        return TokenUsage(
            input_tokens=self._tokens["input_tokens"], output_tokens=self._tokens["output_tokens"]
        )

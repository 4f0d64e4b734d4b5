"""What the evaluations of a suite may spend together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_eval.engine.limits.budget import Budget
from tui_eval.engine.suite.evaluation_status import EvaluationStatus
from tui_eval.stats.cost import budget_spent


class SuiteBudget:
    """Knows why nothing new may begin in any evaluation: `spent`, which is empty while it may.

    `shared` holds the model calls of all; it is None where there is no limit.

    Args:
        max_cost: US dollars at most; None for no limit.
        max_total_tokens: Tokens at most; None for no limit.
        warn: Called once it is spent.
    """

    def __init__(
        self,
        max_cost: float | None,
        max_total_tokens: int | None,
        evaluations: Sequence[EvaluationStatus],
        warn: Callable[[str], None],
    ) -> None:
        self.spent = ""
        self._limits = max_cost, max_total_tokens
        self._evaluations = evaluations
        self._warn = warn
        self.shared: Budget | None = None
        if max_cost is not None or max_total_tokens is not None:
            self.shared = Budget(max_cost, max_total_tokens, self._used, self._exhausted)

    def look(self) -> str:
        """Counts what is spent; returns `spent`."""
        if self.spent or self.shared is None:
            return self.spent
        max_cost, max_total_tokens = self._limits
        self._exhausted(
            budget_spent(*self._used(), max_cost=max_cost, max_total_tokens=max_total_tokens)
        )
        return self.spent

    def _exhausted(self, why: str) -> None:
        if why and not self.spent:
            self.spent = why
            self._warn(f"No further calls begin: {why}")

    def _used(self) -> tuple[int, float]:
        """Tokens and US dollars of all evaluations so far."""
        for one in self._evaluations:
            if one.hub is not None:
                one.hub.flush()
        every = [one.used() for one in self._evaluations]
        return sum(used[0] for used in every), sum(used[1] for used in every)

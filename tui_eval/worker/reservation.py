"""What one model call of a rollout may use of its budgets.

A rollout may have several calls in flight. Each runs in a context of its own, so what it reserved
is found again wherever it is answered, fails or sleeps.
"""

from __future__ import annotations

from contextvars import ContextVar

from tui_eval.worker.ports import CallGuard


class Reservation:
    """Tokens that are reserved for a call while it is in flight.

    Args:
        tokens: Of the longest answer that it may get.
    """

    def __init__(self, guard: CallGuard, tokens: int) -> None:
        self.guard = guard
        self.tokens = tokens
        self.is_taken = False

    def give_back(self) -> None:
        """The call is over, or sleeps."""
        if self.is_taken:
            self.is_taken = False
            self.guard.give_back(self.tokens)


RESERVED: ContextVar[Reservation | None] = ContextVar("RESERVED", default=None)
"""That of the call which is made here, if a budget limits it."""

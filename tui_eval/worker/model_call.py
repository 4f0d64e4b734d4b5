"""One model call of a rollout: when its request was sent, and what it may use of budgets.

A rollout may have several calls in flight. Each runs in a context of its own, so it is found again
wherever it is answered, fails or sleeps.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import monotonic

from tui_eval.worker.ports import CallGuard


class ModelCall:
    """A call, until it is over.

    `requested_at` is when its request was sent last, in seconds of the loop; 0 before that, and
    once it is answered.

    Args:
        guard: Lets it through as it fits into budgets; None where none limits it.
        tokens: Of the longest answer that it may get.
    """

    def __init__(self, guard: CallGuard | None, tokens: int) -> None:
        self.guard = guard
        self.tokens = tokens
        self.requested_at = 0.0
        self.is_reserved = self.is_over = False

    def give_back(self) -> None:
        """It is over, or sleeps: others may have what was reserved for it."""
        if self.is_reserved and self.guard is not None:
            self.is_reserved = False
            self.guard.give_back(self.tokens)

    def end(self) -> None:
        """It is over, however it ended."""
        self.is_over = True
        self.give_back()


MODEL_CALL: ContextVar[ModelCall | None] = ContextVar("MODEL_CALL", default=None)
"""The one that is made here, or was last."""


class Unanswered:
    """The calls of one rollout that have no answer: in flight, or failed since the last answer."""

    def __init__(self) -> None:
        self._calls: set[ModelCall] = set()

    def __bool__(self) -> bool:
        return bool(self._calls)

    def sent(self, call: ModelCall) -> None:
        """The request of a call is sent now."""
        call.requested_at = monotonic()  # the loop's own
        self._drop_failed()
        self._calls.add(call)

    def answered(self) -> float:
        """The call that is made here has its answer; when that was requested, 0 if never."""
        call = MODEL_CALL.get()
        self._drop_failed()
        if call is None:
            return 0.0
        self._calls.discard(call)
        requested_at, call.requested_at = call.requested_at, 0.0
        return requested_at

    def _drop_failed(self) -> None:
        self._calls = {one for one in self._calls if not one.is_over}

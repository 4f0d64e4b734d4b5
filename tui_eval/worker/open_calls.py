"""Open calls of one rollout: those that have begun and not ended."""

from __future__ import annotations

from contextvars import ContextVar, Token
from time import monotonic
from typing import TYPE_CHECKING

from tui_eval import clock
from tui_eval.events import Stage

if TYPE_CHECKING:
    from tui_eval.worker.ports import ActiveRollout, CallGuard, Hub


class OpenWait:
    """One wait, while it is entered: several times for each turn, so it takes little time.

    Args:
        what: Name of the call, for people.
    """

    __slots__ = ("_hub", "_rollout", "_token", "_waits", "since", "what")

    def __init__(self, what: str, waits: OpenWaits, hub: Hub, rollout: ActiveRollout) -> None:
        self.what = what
        self.since = 0.0
        self._waits = waits
        self._hub = hub
        self._rollout = rollout
        self._token: Token[OpenWait | None] | None = None

    def __enter__(self) -> None:
        self._token = _INNERMOST.set(self)
        waits = self._waits
        self.since = waits.moved_at = monotonic()
        waits.open[self] = None
        self._hub.mark_changed(self._rollout)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _INNERMOST.reset(self._token)
            self._token = None  # it leads to all that the task knows
        waits = self._waits
        waits.open.pop(self, None)
        waits.moved_at = monotonic()
        if waits.open:  # else another stage or another call follows, which says so
            self._hub.mark_changed(self._rollout)

    @property
    def outer(self) -> object:
        """The wait around it, where there is one."""
        return None if self._token is None else self._token.old_value


_INNERMOST: ContextVar[OpenWait | None] = ContextVar("wait", default=None)
"""The wait that this task is in."""


class OpenWaits:
    """The stage of one rollout, and its calls in flight.

    A call within another one is what both wait for; of several side by side it is the oldest.
    `open` has them in the order in which they began; one of them began or ended last at `moved_at`,
    in seconds of `time.monotonic`.
    """

    __slots__ = ("_staged_at", "moved_at", "open", "stage")

    def __init__(self) -> None:
        self.stage = Stage.WAITING
        self._staged_at = self.moved_at = 0.0
        self.open: dict[OpenWait, None] = {}

    def move_to(self, stage: Stage) -> None:
        """Moves the rollout to this stage."""
        if stage is not self.stage:
            self.stage = stage
            self._staged_at = monotonic()

    def longest(self) -> tuple[str, float]:
        """The call that holds the rollout up, empty where its stage says all, and its beginning in
        unix seconds.
        """
        what, since = "", max(self.moved_at, self._staged_at)
        if self.stage in (Stage.SLEEPING, Stage.HELD):
            since = self._staged_at
        else:
            outers = {wait.outer for wait in self.open}
            for wait in self.open:
                if wait not in outers:
                    what, since = wait.what, max(wait.since, self._staged_at)
                    break
        return what, clock.now() - (monotonic() - since)


class ModelCall:
    """A call of the model in flight: when its request was sent, and its reservation.

    A rollout may have several in flight. Each runs in a context of its own, so it is found again
    wherever it is answered, fails or sleeps.

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
        """Releases the reservation of a call that is over or sleeps."""
        if self.is_reserved and self.guard is not None:
            self.is_reserved = False
            self.guard.give_back(self.tokens)

    def end(self) -> None:
        """Ends the call, however it ended."""
        self.is_over = True
        self.give_back()


MODEL_CALL: ContextVar[ModelCall | None] = ContextVar("MODEL_CALL", default=None)
"""The model call in this context, or its last one."""


class Unanswered:
    """Calls of one rollout without an answer: in flight, or failed since the last answer."""

    def __init__(self) -> None:
        self._calls: set[ModelCall] = set()

    def __bool__(self) -> bool:
        return bool(self._calls)

    def sent(self, call: ModelCall) -> None:
        """Notes that the request of a call is sent now."""
        call.requested_at = monotonic()  # the loop's own
        self._drop_failed()
        self._calls.add(call)

    def answered(self) -> float:
        """Notes the answer of the call made here; returns when it was requested, 0 if never."""
        call = MODEL_CALL.get()
        self._drop_failed()
        if call is None:
            return 0.0
        self._calls.discard(call)
        requested_at, call.requested_at = call.requested_at, 0.0
        return requested_at

    def _drop_failed(self) -> None:
        if self._calls:
            self._calls = {one for one in self._calls if not one.is_over}

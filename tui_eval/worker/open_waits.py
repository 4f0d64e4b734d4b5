"""What one rollout waits for: the calls that it has begun and that have not ended."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token

from tui_eval import clock
from tui_eval.events import Stage


class OpenWait:
    """One of them, while it is entered.

    Args:
        what: What is called, for people.
        waits: Those of the rollout.
        changed: Called where it begins and ends.
    """

    __slots__ = ("_changed", "_outer", "_token", "_waits", "inner", "since", "what")

    def __init__(self, what: str, waits: OpenWaits, changed: Callable[[], None]) -> None:
        self.what = what
        self.inner = 0
        self.since = 0.0
        self._waits = waits
        self._changed = changed
        self._outer: OpenWait | None = None
        self._token: Token[OpenWait | None] | None = None

    def __enter__(self) -> None:
        outer = _INNERMOST.get()
        if outer is not None and outer._waits is self._waits:
            self._outer = outer
            outer.inner += 1
        self._token = _INNERMOST.set(self)
        self.since = clock.now()
        self._waits.add(self)
        self._changed()

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _INNERMOST.reset(self._token)
            self._token = None
        if self._outer is not None:
            self._outer.inner -= 1
        self._waits.remove(self)
        self._changed()


_INNERMOST: ContextVar[OpenWait | None] = ContextVar("wait", default=None)
"""The wait that this task is in."""


class OpenWaits:
    """The stage of one rollout, and its calls in flight.

    A call within another one is what both wait for; of several side by side it is the oldest.
    """

    __slots__ = ("_moved_at", "_open", "_staged_at", "stage")

    def __init__(self) -> None:
        self.stage = Stage.WAITING
        self._staged_at = self._moved_at = 0.0
        self._open: dict[OpenWait, None] = {}

    def move_to(self, stage: Stage) -> None:
        """It has gone on to this stage."""
        if stage is not self.stage:
            self.stage = stage
            self._staged_at = clock.now()

    def add(self, wait: OpenWait) -> None:
        """A call begins."""
        self._open[wait] = None
        self._moved_at = wait.since

    def remove(self, wait: OpenWait) -> None:
        """One has ended."""
        self._open.pop(wait, None)
        self._moved_at = clock.now()

    def longest(self) -> tuple[str, float]:
        """The call that holds the rollout up, empty where its stage says all; and since when."""
        if self.stage in (Stage.SLEEPING, Stage.HELD):
            return "", self._staged_at
        wait = next((one for one in self._open if not one.inner), None)
        what, since = ("", self._moved_at) if wait is None else (wait.what, wait.since)
        return what, max(since, self._staged_at)

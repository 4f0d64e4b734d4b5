"""Cancelling one rollout: its task continues with what is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.state import State
    from tui_eval.worker.rollout_observer import RolloutObserver

CANCELLED = "cancelled"
"""The stop condition of a rollout that somebody ended."""


class EndedByCancelling:
    """A block that ends where one of some rollouts is cancelled, and the cancellation with it.

    A cancellation of the task itself propagates. `RolloutObserver.cancelled` says which one it was.

    Args:
        observers: The rollouts that the running task works on in the block.
    """

    def __init__(self, *observers: RolloutObserver) -> None:
        self._observers: Sequence[RolloutObserver] = observers
        self._task: asyncio.Task[object] | None = None
        self._cuts = 0

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        for observer in self._observers:
            observer.cut = self._cut

    def _cut(self) -> None:
        if self._task is not None:
            self._cuts += 1
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        for observer in self._observers:
            observer.cut = None
        # A task that was kept would hold itself alive, by its context, and its rollouts with it.
        task, self._task = self._task, None
        if task is None or not self._cuts:
            return False
        for _ in range(self._cuts):
            others = task.uncancel()
        return isinstance(error, asyncio.CancelledError) and not others


def give_up(state: State, observer: RolloutObserver) -> State:
    """The state of a rollout that was cancelled: an errored one, whatever it came to."""
    state["error"] = observer.cancelled
    state["stop_condition"] = CANCELLED
    state["is_completed"] = True
    return state

"""The early end of a rollout: by its deadline, or cancelled by somebody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from tui_eval.call_limits import uncounted
from tui_eval.deadline import Deadline, LoopPulse, pulse_of
from tui_eval.errors import CancelledByUserError, Error, RolloutTimeoutError

if TYPE_CHECKING:
    from tui_eval.state import State
    from tui_eval.worker.rollout_observer import RolloutObserver

CANCELLED = "cancelled"
"""The stop condition of a rollout that somebody ended."""


class RolloutDeadline(Deadline):
    """The deadline of a rollout's generation; `expired` also where somebody cut it short.

    Time in which it is held is not counted, nor time in which the code of another rollout holds
    the loop.

    `is_counted` says whether its time is; `code_runs` is to be called then.

    Args:
        seconds: Its time limit; None for none.
        row: Its place.
    """

    ends_with = (asyncio.CancelledError, RolloutTimeoutError, CancelledByUserError)

    def __init__(self, seconds: float | None, row: int = -1) -> None:
        super().__init__(seconds)
        self._row = row
        self.is_counted = False
        self._cut: Error | None = None
        self._pulse: LoopPulse | None = None

    def __enter__(self) -> Self:
        if self.seconds is not None:
            self._pulse = pulse_of(asyncio.get_running_loop())
            self._pulse.begin()
            self.is_counted = True
        return super().__enter__()

    def __exit__(self, *raised: Any) -> bool:
        is_over = super().__exit__(*raised)
        if self._pulse is not None:
            self._pulse.end()
            self._pulse.forget(self._row)
            self._pulse = None
            self.is_counted = False
        return is_over

    def code_runs(self) -> None:
        """Notes that its code is called next, which is counted where it holds the loop."""
        if self._pulse is not None:
            self._pulse.runs(self._row)

    def _lost_s(self) -> float:
        return (
            0.0 if self._pulse is None else self._pulse.still_s() - self._pulse.still_of(self._row)
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Leaves the block out of its time, and out of that of the call that it is in."""
        with super().held(), uncounted():
            yield

    def check(self) -> None:
        """Ends a rollout whose code did not end when it was cancelled.

        Raises:
            Error: The time is up, or the rollout was cut short.
        """
        if self.expired:
            raise self.error()

    def cut(self, error: CancelledByUserError) -> bool:
        """Ends the block now, with this error; False where it has ended or is about to."""
        if self._task is None or self.expired:
            return False
        self._cut = error
        self._pause()
        self._end()
        return True

    def error(self) -> Error:
        """The error of the rollout."""
        if self._cut is not None:
            return self._cut
        return RolloutTimeoutError(f"The rollout took longer than {self.seconds:g} s (--timeout)")


class EndedByCancelling:
    """A block that ends where one of some rollouts is cancelled, and takes the cancellation back.

    A cancellation of the task itself propagates. `RolloutObserver.cancelled` says which one it was.
    """

    def __init__(self, *observers: RolloutObserver) -> None:
        self._observers = observers
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

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
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
    """The state of a rollout that was cancelled: always with an error."""
    state["error"] = observer.cancelled
    state["stop_condition"] = CANCELLED
    state["is_completed"] = True
    return state

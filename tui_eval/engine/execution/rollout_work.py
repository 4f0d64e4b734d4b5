"""The rollouts of a run, wherever they are run: in the engine's own process, or in workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sized
from typing import Any, Protocol

from tui_eval.engine.limits.limits import Held
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.errors import is_cancellation, must_propagate
from tui_eval.state import State
from tui_eval.token_kinds import Tokens
from tui_eval.worker.gate import Gate
from tui_eval.worker.rollouts import Rollouts
from tui_eval.worker.work import Work


class RolloutGroups(Protocol):
    """Groups of rollouts that are scored together."""

    def __contains__(self, example: int) -> bool:
        """Whether the group of an example waits for members; one that is complete does not."""

    def add_saved(self, row: int, values: Mapping[str, Any]) -> object:
        """A member whose row is already on disk: it is scored only to be compared with."""

    def forget(self, row: int) -> asyncio.Future[None] | None:
        """A member that is to run again: its group waits for it.

        Returns:
            What is done once its worker knows that; None where it is known at once.
        """


class RolloutWork(Protocol):
    """What a session has done: see `worker.rollouts.Rollouts`."""

    @property
    def groups(self) -> RolloutGroups:
        """Those that are scored together."""

    @property
    def generated(self) -> Sized:
        """Those that wait until all are generated."""

    @property
    def lost_tokens(self) -> dict[int, Tokens]:
        """Tokens of earlier attempts, by row."""

    @property
    def may_begin_no_more(self) -> bool:
        """Whether the budget is spent."""

    def run(self, row: int, client: Any, held: Held) -> Coroutine[Any, Any, None]:
        """What takes one rollout from its input to its line on disk."""

    def restore(self, row: int, record: Mapping[str, Any]) -> None:
        """Puts a rollout that an earlier session generated among those that are `generated`."""

    def score_next(self, held: Held) -> Coroutine[Any, Any, None]:
        """What takes one of those that are `generated` to its line on disk."""

    def cancel(self, rollout: Any) -> Coroutine[Any, Any, None] | None:
        """Ends a rollout that has begun; what is left to do for it, if there is anything."""

    def never_begins(self, row: int) -> Coroutine[Any, Any, None]:
        """What is to do for a rollout that was cancelled before it began."""


def rollouts_here(
    parts: EngineParts, gate: Gate, is_fatal: Callable[[State], bool], *, is_own: bool
) -> Rollouts:
    """Rollouts in this process.

    Args:
        is_fatal: Whether what a rollout ended with ends the run.
        is_own: The process is the run's: its interrupts are people's code's own.
    """
    prepared, plan = parts.prepared, parts.prepared.plan
    assert prepared.loaded is not None, "this process has loaded the environment"
    work = Work.of_plan(
        plan,
        prepared.loaded.env,
        sampling_args=prepared.sampling_args,
        examples=prepared.loaded.examples,
        seen=parts.columns,
        grouped=prepared.grouped,
        out_of_budget=parts.out_of_budget,
        is_fatal=is_fatal,
        lost=prepared.lost,
        answers=prepared.answers,
        guard_of=lambda row: parts.guard,
        code=prepared.code_number,
        goes_on=is_cancellation if is_own else must_propagate,
    )
    return Rollouts(work, parts.hub, gate, parts.limits, parts.rows, parts.journal)

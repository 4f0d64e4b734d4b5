"""The rollouts of a run, in this process or in workers, and the parts that work on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from tui_eval.engine.execution.run_files import RunFiles
from tui_eval.engine.execution.schedule import Schedule
from tui_eval.engine.limits.limits import Limits
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.workers.engine_parts import EngineParts
from tui_eval.engine.workers.worker_rollouts import WorkerRollouts
from tui_eval.errors import is_cancellation, must_propagate
from tui_eval.state import State
from tui_eval.worker.gate import Gate
from tui_eval.worker.rollouts import Rollouts
from tui_eval.worker.work import Work

RolloutWork: TypeAlias = Rollouts | WorkerRollouts
"""The rollouts of a session: in the engine's own process, or in workers."""


class AtWork(msgspec.Struct, frozen=True):
    """The parts of a session that commands act on.

    Args:
        publish_move: Says that the run is in another directory from now on.
        write_metadata: Writes metadata.json as the run is now.
    """

    prepared: Prepared
    hub: Hub
    schedule: Schedule
    rollouts: RolloutWork
    limits: Limits
    files: RunFiles
    publish_move: Callable[[], None]
    write_metadata: Callable[[], None]


def rollouts_here(
    parts: EngineParts, gate: Gate, is_fatal: Callable[[State], bool], *, is_own: bool
) -> Rollouts:
    """Rollouts in this process.

    Args:
        is_fatal: Whether the error of a rollout ends the run.
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
        propagates=is_cancellation if is_own else must_propagate,
    )
    return Rollouts(work, parts.hub, gate, parts.limits, parts.rows, parts.journal)

"""Examines one evaluation with its environment: all of its faults are found at once.

What several evaluations have in common (endpoints, the hub, prices, open files) is checked once for
all of them, by `preflight`.
"""

from __future__ import annotations

from typing import NamedTuple

from tui_eval.config.compatibility import content_faults, continued_faults
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.settings import place_of
from tui_eval.engine.setup.expanded_request import with_run
from tui_eval.engine.setup.opened_environment import OpenedEnvironment
from tui_eval.engine.setup.plan_checks import (
    column_faults,
    column_notices,
    environment_faults,
    memory_faults,
    outputs_fault,
    room_faults,
    until_faults,
    worker_faults,
)
from tui_eval.engine.setup.resume import misplaced_rows
from tui_eval.engine.setup.resume_match import PlannedEvaluation
from tui_eval.errors import Notice, RefusedError
from tui_eval.runs.layout import RunDir
from tui_eval.worker.describing.info import EnvironmentInfo
from tui_eval.worker.overriding import FLAG as REPLACED
from tui_eval.worker.overriding import override_notices


class Checked(NamedTuple):
    """An evaluation without a fault.

    Args:
        opened: Its environment, and `info` the description of it.
        run: The run that it resumes, and `before` the plan of that one; None for a new one.
        notices: Sentences for people.
        keeps_errors: Errored rollouts of a run that is resumed stay as they are.
        again: See `Prepared.again`.
    """

    plan: RunPlan
    opened: OpenedEnvironment
    info: EnvironmentInfo
    run: RunDir | None
    before: RunPlan | None
    notices: list[Notice]
    keeps_errors: bool
    again: list[int] | None


def examine(request: Request, one: PlannedEvaluation, opened: OpenedEnvironment) -> Checked:
    """Examines one evaluation; writes nothing.

    Args:
        opened: Its environment.

    Raises:
        RefusedError: With everything that is wrong.
    """
    plan, run, before, info = one.plan, one.run, one.before, opened.info
    faults, notices = list(opened.faults), list[Notice]()
    accepts = bool(request.raw.get("accept_changes"))
    if before is not None and run is not None and info is not None and info.before is not None:
        faults += content_faults(plan, run, before, info.before, info.code, accepts=accepts)
    if run is not None:
        faults += [] if accepts else continued_faults(run)
        faults += room_faults(plan, run)
    worker = None if opened.worker is None else opened.worker.pid
    if not plan.no_preflight:
        faults += outputs_fault(plan) if run is None else []
        faults += environment_faults(plan, info) + column_faults(plan, info)
        faults += worker_faults(plan, worker)
    faults += memory_faults(plan, [] if worker is None else [worker])
    if info is not None:
        faults += until_faults(plan, info, run, notices)
    if run and not run.plan.exists() and info is not None:
        places = opened.places(plan.rollouts_per_example)
        faults += misplaced_rows(run, places.ids(), plan.rollouts_per_example)
    if faults or info is None:
        raise RefusedError(with_run(run, faults))
    plan.examples_taken, plan.examples_digest = opened.count, info.digest
    plan.scores_path = request.scores_path or plan.scores_path
    notices += lacking_notices(plan, info) + _notices(one, info, opened)
    keeps_errors = bool(request.raw.get("keep_errors"))
    return Checked(plan, opened, info, run, before, notices, keeps_errors, request.again)


def lacking_notices(plan: RunPlan, info: EnvironmentInfo) -> list[Notice]:
    """Warnings of what its rollouts may lack: modules of reward functions, columns."""
    return [] if plan.no_preflight else info.missing + column_notices(plan, info)


def _notices(
    one: PlannedEvaluation, info: EnvironmentInfo, opened: OpenedEnvironment
) -> list[Notice]:
    """The notices of an evaluation without a fault."""
    plan = one.plan
    new = plan.changes[len(one.before.changes) :] if one.before else []
    replaced_at = place_of(plan.sources, "extra_env_kwargs", REPLACED)
    return [
        *(Notice(f"Accepted: {change}") for change in new),
        *override_notices(info.single_turn, plan.extra_env_kwargs, replaced_at),
        *opened.interpreter_notices(plan.sources.get("python", "")),
    ]

"""The preflight of a request: every evaluation of it is checked before the first begins.

Each is examined with its environment: all of its faults are found at once. What several have in
common (endpoints, the hub, prices, open files) is checked once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tui_eval.config.compatibility import content_faults, continued_faults
from tui_eval.config.list_prices import blind_text, take_list_prices
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.settings import place_of
from tui_eval.engine.limits.limits import Phases, open_file_notices, within_open_files
from tui_eval.engine.setup.endpoint_checks import check_endpoints
from tui_eval.engine.setup.expanded_request import ExpandedRequest, settings_to_open, with_run
from tui_eval.engine.setup.hub_faults import hub_faults
from tui_eval.engine.setup.opened_environment import NOTHING, OpenedEnvironment, open_environment
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
from tui_eval.errors import Fault, Notice, RefusedError, warning
from tui_eval.runs.layout import RunDir
from tui_eval.worker.description.info import EnvironmentInfo
from tui_eval.worker.overrides import FLAG as REPLACED
from tui_eval.worker.overrides import override_notices

LIMITS = ("max_concurrent", "max_concurrent_generation", "max_concurrent_scoring")


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


class Preflight(msgspec.Struct):
    """The evaluations of a request, which have passed their preflight.

    Args:
        checked: Those that were examined with their environment, by index.
        limits: Those that all evaluations share, in the order of `LIMITS`; 0 for none.
        max_cost, max_total_tokens: The budget of all of them together.
        notices: Sentences for people, of all of them.
    """

    expanded: ExpandedRequest
    checked: dict[int, Checked] = msgspec.field(default_factory=dict)
    limits: tuple[int, int, int] = (0, 0, 0)
    max_cost: float | None = None
    max_total_tokens: int | None = None
    notices: list[Notice] = msgspec.field(default_factory=list)

    @property
    def evaluations(self) -> list[PlannedEvaluation]:
        """The evaluations, in their order."""
        return self.expanded.evaluations

    async def take(self, index: int, slow: Callable[[str], None]) -> Checked:
        """Takes an evaluation that is to begin, with its environment.

        Args:
            slow: Gets a sentence where loading that takes long.

        Raises:
            RefusedError: With everything that is wrong.
        """
        if (checked := self.checked.pop(index, None)) is not None:
            return checked
        one = self.evaluations[index]
        opened = await open_environment(settings_to_open(one), slow=slow)
        with opened.closed_on_error():
            return examine(self.expanded.request, one, opened)

    def close(self) -> None:
        """Ends the workers that wait for evaluations, which do not begin any more."""
        for checked in self.checked.values():
            checked.opened.close()


def preflight(expanded: ExpandedRequest, opened: Mapping[int, OpenedEnvironment]) -> Preflight:
    """Checks the environments and endpoints of all evaluations, each once.

    Args:
        opened: See `ExpandedRequest.to_open`.

    Raises:
        RefusedError: With everything that is wrong.
    """
    found = Preflight(expanded)
    faults = expanded.faults + _examine_environments(found, opened) + _shared_faults(found)
    if faults:
        raise RefusedError(dict.fromkeys(faults))
    in_flight, generation, scoring = _limits(expanded)
    total = _total(expanded.evaluations)
    found.limits = (within_open_files(in_flight, total), generation, scoring)
    typed = expanded.expansion.typed
    budget = {name: typed[name].value for name in typed}
    found.max_cost, found.max_total_tokens = budget.get("max_cost"), budget.get("max_total_tokens")
    notices = [*expanded.notices, *found.notices, *open_file_notices(in_flight, total)]
    found.notices = list(dict.fromkeys([*notices, *_prices(found)]))
    return found


def _examine_environments(found: Preflight, opened: Mapping[int, OpenedEnvironment]) -> list[Fault]:
    """Examines the first evaluation of each environment, and looks at those like it."""
    faults: list[Fault] = []
    for index, *others in found.expanded.by_environment():
        first, one = found.evaluations[index], opened.get(index, NOTHING)
        try:
            found.checked[index] = examine(found.expanded.request, first, one)
        except RefusedError as error:
            faults += error.faults
        if one.info is not None:
            found.notices += lacking_notices(first.plan, one.info)
        looked_at: set[object] = {tuple(first.plan.state_columns)}
        if first.run is None:
            looked_at.add(_place(first.plan))
        for other in (found.evaluations[index] for index in others):
            if not other.plan.no_preflight:
                faults += _cheap_faults(other, one.info, found.notices, looked_at)
            if one.info is not None and _arguments(other) == _arguments(first):
                faults += until_faults(other.plan, one.info, None, found.notices)
    return faults


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


def _cheap_faults(
    other: PlannedEvaluation,
    info: EnvironmentInfo | None,
    notices: list[Notice],
    looked_at: set[object],
) -> list[Fault]:
    """Faults of an evaluation's folder and columns, before it is examined when it begins.

    Args:
        info: Its environment with the arguments of another evaluation.
        looked_at: Folders and columns of others, which are not looked at again.
    """
    faults: list[Fault] = []
    plan, columns = other.plan, tuple(other.plan.state_columns)
    if other.run is None and _place(plan) not in looked_at:
        looked_at.add(_place(plan))
        faults += outputs_fault(plan)
    if columns not in looked_at:
        looked_at.add(columns)
        faults += column_faults(plan, info)
        notices += column_notices(plan, info)
    return faults


def _arguments(one: PlannedEvaluation) -> tuple[object, object]:
    """The settings of its environment that decide what that has."""
    return one.plan.env_args, one.plan.extra_env_kwargs


def _shared_faults(found: Preflight) -> list[Fault]:
    """Faults of endpoints and the hub, each checked once."""
    plans = [one.plan for one in found.evaluations if not one.plan.no_preflight]
    return check_endpoints(plans, found.notices) + hub_faults(plans, found.notices)


def _place(plan: RunPlan) -> tuple[bool, str | None, str]:
    """The directory of its run."""
    return plan.save, plan.output_dir, str(plan.env_dir_path)


def _prices(found: Preflight) -> list[Notice]:
    """Takes list prices where there are no others; a notice where a limit of cost has none."""
    plans = [one.plan for one in found.evaluations]
    notices = [notice for plan in plans for notice in take_list_prices(plan)]
    blind = [one.alias for one in plans if None in (one.input_price, one.output_price)]
    if found.max_cost is not None and blind and not notices:
        notices.append(warning(blind_text(blind)))
    return list(dict.fromkeys(notices))


def _limits(expanded: ExpandedRequest) -> tuple[int, int, int]:
    """The limits of the file for all; else as many rollouts as the evaluation with most.

    A run alone has no limits but its own.
    """
    plans = [one.plan for one in expanded.evaluations]
    if not expanded.is_suite:
        return plans[0].max_concurrent, 0, 0
    each = [_max_concurrent_of(plan) for plan in plans]
    greatest = 0 if 0 in each else max(each, default=0)
    file = expanded.expansion.top
    top = {name: file[name].value or 0 for name in LIMITS if name in file}
    in_flight, generation, scoring = (top.get(name, 0) for name in LIMITS)
    return (max(in_flight, 0) if LIMITS[0] in top else greatest, generation, scoring)


def _total(evaluations: Sequence[PlannedEvaluation]) -> int:
    """Number of all rollouts at most; 0 where that depends on the sizes of datasets."""
    sizes = [
        (one.plan.examples_taken or one.plan.num_examples, one.plan.rollouts_per_example)
        for one in evaluations
    ]
    if not all(examples > 0 for examples, _ in sizes):
        return 0
    return sum(examples * each for examples, each in sizes)


def _max_concurrent_of(plan: RunPlan) -> int:
    """The maximum number of concurrent rollouts of an evaluation; 0 for no limit."""
    own = plan.max_concurrent_generation, plan.max_concurrent_scoring
    in_flight, *apart = Phases(plan.max_concurrent, *own).bounds()
    return sum(apart) if any(own) and all(apart) else max(in_flight, 0)

"""Examines a request before the first call: all of its faults are found at once.

A run alone and each evaluation of a file are examined alike, by `examine`. What several have in
common (endpoints, the hub, prices, open files) is checked once, by `suite.preflight`; for one alone
by `check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tui_eval.config.env_file import load_env_file
from tui_eval.config.expansion import Expander
from tui_eval.config.list_prices import take_list_prices
from tui_eval.config.litellm_names import name_model
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.plan_builder import ACCEPT
from tui_eval.config.settings import place_of
from tui_eval.engine.limits.open_file_room import open_file_notices
from tui_eval.engine.setup.choosing_run import go_to_its_folder, plan_before, run_to_resume
from tui_eval.engine.setup.compatibility import content_faults
from tui_eval.engine.setup.endpoint_checks import check_endpoints
from tui_eval.engine.setup.hub_faults import hub_faults
from tui_eval.engine.setup.opened import Opened
from tui_eval.engine.setup.preflight import (
    column_notices,
    environment_faults,
    outputs_fault,
    until_faults,
    worker_faults,
)
from tui_eval.engine.setup.resume import misplaced_rows
from tui_eval.engine.setup.resume_match import Planned
from tui_eval.errors import Fault, Notice, RefusedError
from tui_eval.runs.layout import RunDir
from tui_eval.worker.describing.info import (
    EnvironmentInfo,
    EnvironmentSettings,
    Wanted,
    settings_of,
)
from tui_eval.worker.overriding import FLAG as REPLACED
from tui_eval.worker.overriding import override_notices


class Checked(NamedTuple):
    """A request without a fault.

    Args:
        opened: Its environment, and `info` the description of it.
        run: The run that it resumes, and `before` the plan of that one; None for a new one.
        notices: Sentences for people.
    """

    plan: RunPlan
    opened: Opened
    info: EnvironmentInfo
    run: RunDir | None
    before: RunPlan | None
    notices: list[Notice]


class Drafted(NamedTuple):
    """A request for one run, expanded.

    Args:
        one: The evaluation, with the run that it resumes.
        faults: Those known already.
        notices: Sentences for people.
    """

    request: Request
    one: Planned
    faults: list[Fault]
    notices: list[Notice]

    def settings(self, *, estimates: bool = False) -> EnvironmentSettings | None:
        """The settings of its environment; None where it names none.

        Args:
            estimates: See `Wanted.estimates`.
        """
        return settings_to_open(self.one, estimates=estimates) if self.one.plan.env_id else None


def settings_to_open(one: Planned, *, estimates: bool = False) -> EnvironmentSettings:
    """The settings of an evaluation's environment."""
    plan, run, before = one.plan, one.run, one.before
    wanted = Wanted(
        columns=plan.state_columns,
        resumes=str(run.path) if run is not None and before is not None else "",
        digest_before=before.examples_digest if before is not None else "",
        looks=not plan.no_preflight,
        estimates=estimates,
    )
    return settings_of(plan.model_dump(), wanted)


def draft(expander: Expander) -> Drafted:
    """Expands a request for one run, and finds the run that it resumes; writes nothing.

    Raises:
        RefusedError: With all faults, where too little is given to continue.
    """
    request, notices = expander.request, load_env_file()
    misnamed = name_model(request) if request.litellm_names else []
    run = run_to_resume(expander, notices)
    before = plan_before(run, expander) if run else None
    if run and before and request.env_id is None:
        run = RunDir(run.path.resolve(), run.name)
        notices += go_to_its_folder(request, before)
        expander.read_again()
    plan, expansion = expander.draft(before), expander.expansion(before)
    notices += expansion.notices
    faults = [*(Fault(*fault) for fault in request.faults), *misnamed, *expansion.faults]
    if plan is None:
        raise RefusedError(_with_run(run, faults))
    is_comparable = all(fault.hint == ACCEPT for fault in expansion.faults)
    one = Planned(plan, run=run, before=before if is_comparable else None)
    return Drafted(request, one, faults, notices)


def check(drafted: Drafted, opened: Opened) -> Checked:
    """Examines a request for one run; writes nothing.

    Args:
        opened: Its environment.

    Raises:
        RefusedError: With everything that is wrong.
    """
    request, one, faults, notices = drafted
    plan = one.plan
    checked = examine(request, one, opened, faults, notices, is_alone=True)
    plan.scores_path = request.scores_path or plan.scores_path
    notices += open_file_notices(plan.max_concurrent, opened.count * plan.rollouts_per_example)
    if not plan.no_preflight:
        notices += column_notices(plan.state_columns, checked.info)
    return checked


def examine(
    request: Request,
    one: Planned,
    opened: Opened,
    faults: list[Fault],
    notices: list[Notice],
    *,
    is_alone: bool = False,
) -> Checked:
    """Examines one evaluation, with its environment; writes nothing.

    Args:
        opened: Its environment.
        faults: Those known already.
        notices: Gets sentences for people.
        is_alone: It is no evaluation of several: what those have in common is checked here.

    Raises:
        RefusedError: With everything that is wrong.
    """
    plan, run, before, info = one.plan, one.run, one.before, opened.info
    faults = [*faults, *opened.faults]
    if before is not None and run is not None and info is not None and info.before is not None:
        accepts = bool(request.raw.get("accept_changes"))
        faults += content_faults(plan, run, before, info, accepts=accepts)
    if not plan.no_preflight:
        faults += _preflight(one, info, notices, is_alone=is_alone)
        faults += worker_faults(plan, None if opened.worker is None else opened.worker.pid)
    if is_alone and info is not None:
        faults += until_faults(plan, info, run, notices)
    if is_alone and run and not run.plan.exists() and info is not None:
        places = opened.places(plan.rollouts_per_example)
        faults += misplaced_rows(run, places.ids(), plan.rollouts_per_example)
    if faults or info is None:
        raise RefusedError(_with_run(run, faults))
    if is_alone:
        notices += take_list_prices(plan)
    plan.examples_taken, plan.examples_digest = opened.count, info.digest
    notices += _notices(one, info, opened)
    return Checked(plan, opened, info, run, before, notices)


def _notices(one: Planned, info: EnvironmentInfo, opened: Opened) -> list[Notice]:
    """The notices of an evaluation without a fault."""
    plan = one.plan
    new = plan.changes[len(one.before.changes) :] if one.before else []
    replaced_at = place_of(plan.sources, "extra_env_kwargs", REPLACED)
    return [
        *(Notice(f"Accepted: {change}") for change in new),
        *override_notices(info.single_turn, plan.extra_env_kwargs, replaced_at),
        *opened.interpreter_notices(plan.sources.get("python", "")),
    ]


def _preflight(
    one: Planned, info: EnvironmentInfo | None, notices: list[Notice], *, is_alone: bool
) -> list[Fault]:
    """Faults that would make a run fail although its plan is right."""
    faults: list[Fault] = []
    if is_alone:
        faults += check_endpoints([one.plan], notices) + hub_faults([one.plan], notices)
    if one.run is None:
        faults += outputs_fault(one.plan)
    if info is not None:
        notices += info.missing
    return faults + environment_faults(one.plan, info)


def _with_run(run: RunDir | None, faults: Iterable[Fault]) -> list[Fault]:
    """Faults of a resume, which also name the run, as the request may not."""
    return [
        one._replace(where=f"--resume {run.path}") if run and one.where == "--resume" else one
        for one in faults
    ]

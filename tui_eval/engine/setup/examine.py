"""Examines a request before the first call: everything that is wrong is found at once.

A run alone and each evaluation of a file are examined alike, by `examine`. For several, what they
have in common (endpoints, the hub, prices, open files) is looked at once, by `suite.preflight`;
for one alone it is `check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tui_eval.config.env_file import load_env_file
from tui_eval.config.expansion import Expander
from tui_eval.config.list_prices import take_list_prices
from tui_eval.config.litellm_names import name_model
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.plan_builder import ACCEPT
from tui_eval.config.settings import place_of
from tui_eval.engine.limits.open_file_room import open_file_notices
from tui_eval.engine.setup.choosing_run import go_to_its_folder, plan_before, run_to_resume
from tui_eval.engine.setup.code_parts import code_now
from tui_eval.engine.setup.column_faults import column_notices
from tui_eval.engine.setup.compatibility import content_faults
from tui_eval.engine.setup.hub_faults import hub_faults
from tui_eval.engine.setup.missing_modules import missing_modules
from tui_eval.engine.setup.preflight import ask_endpoints, environment_faults, outputs_fault
from tui_eval.engine.setup.resume_match import Planned
from tui_eval.engine.setup.row_prompts import misplaced_rows
from tui_eval.engine.setup.scoring_faults import until_faults
from tui_eval.errors import Fault, Notice, RefusedError
from tui_eval.runs.layout import RunDir
from tui_eval.runs.versions import CodeVersion
from tui_eval.worker.digests import keep_examples
from tui_eval.worker.opening import environment_of
from tui_eval.worker.overriding import FLAG as REPLACED
from tui_eval.worker.overriding import override_notices

if TYPE_CHECKING:
    from tui_eval.environments.datasets.example_table import ExampleTable
    from tui_eval.environments.environment import Environment

Opened: TypeAlias = "tuple[Environment | None, ExampleTable | None, list[Fault]]"
"""An environment, its examples, and what is wrong with them; what is at fault is None."""


class Checked(NamedTuple):
    """A request that nothing is wrong with.

    Args:
        run: The run that it resumes, and `before` the plan of that one; None for a new one.
        notices: Sentences for people.
        code: What the environment's code is.
    """

    plan: RunPlan
    env: Environment
    table: ExampleTable
    run: RunDir | None
    before: RunPlan | None
    notices: list[Notice]
    code: CodeVersion


def check(expander: Expander) -> Checked:
    """Examines a request for one run; writes nothing.

    Raises:
        RefusedError: With everything that is wrong.
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
    checked = examine(request, one, environment_of(plan), faults, notices, is_alone=True)
    plan.scores_path = request.scores_path or plan.scores_path
    notices += open_file_notices(
        plan.max_concurrent, len(checked.table) * plan.rollouts_per_example
    )
    if not plan.no_preflight:
        notices += column_notices(plan.state_columns, checked.env)
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
        faults: What is known to be wrong already.
        notices: Gets sentences for people.
        is_alone: It is no evaluation of several: what those have in common is looked at here.

    Raises:
        RefusedError: With everything that is wrong.
    """
    plan, run, before = one.plan, one.run, one.before
    env, table, wrong = opened
    faults = [*faults, *wrong]
    with ThreadPoolExecutor(1) as pool:  # endpoints are asked meanwhile
        looking = pool.submit(code_now, plan, env) if env is not None else None
        if before is not None and run is not None and looking is not None and table is not None:
            accepts = bool(request.raw.get("accept_changes"))
            code = looking.result()
            faults += content_faults(plan, run, before, table, code, accepts=accepts)
        if not plan.no_preflight:
            faults += _preflight(one, env, notices, is_alone=is_alone)
        if is_alone and env is not None:
            faults += until_faults(plan, env, run, notices)
        if is_alone and run and not run.plan.exists() and table is not None:
            faults += misplaced_rows(run, table, plan.rollouts_per_example)
        if faults or env is None or table is None or looking is None:
            raise RefusedError(_with_run(run, faults))
        if is_alone:
            notices += take_list_prices(plan)
        keep_examples(plan, len(table), table)
        code = looking.result()
    new = plan.changes[len(before.changes) :] if before else []
    notices += [Notice(f"Accepted: {change}") for change in new]
    replaced_at = place_of(plan.sources, "extra_env_kwargs", REPLACED)
    notices += override_notices(env, plan.extra_env_kwargs, replaced_at)
    return Checked(plan, env, table, run, before, notices, code)


def _preflight(
    one: Planned, env: Environment | None, notices: list[Notice], *, is_alone: bool
) -> list[Fault]:
    """Everything that would make a run fail although its plan is right."""
    faults: list[Fault] = []
    if is_alone:
        faults += ask_endpoints([one.plan], notices) + hub_faults([one.plan], notices)
    if one.run is None:
        faults += outputs_fault(one.plan)
    if env is not None:
        notices += missing_modules(env)
    return faults + environment_faults(one.plan, env)


def _with_run(run: RunDir | None, faults: Iterable[Fault]) -> list[Fault]:
    """Faults, those of resuming the run that they are about: nobody may have named it."""
    return [
        replace(one, where=f"--resume {run.path}") if run and one.where == "--resume" else one
        for one in faults
    ]

"""A request, expanded: its evaluations, each with the run that it resumes.

A run alone is one evaluation; only the runs to resume are looked for in another way where a file
has several (`resumed_run` says why). Nothing is loaded and nothing is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tui_eval.config.compatibility import ACCEPT
from tui_eval.config.env_file import load_env_file
from tui_eval.config.expansion import Expander, Expansion
from tui_eval.config.litellm_names import name_model
from tui_eval.config.options import NEWEST
from tui_eval.config.plan import Request, RunPlan
from tui_eval.engine.setup.resume_match import PlannedEvaluation, choose_runs
from tui_eval.engine.setup.resumed_run import go_to_its_folder, plan_before, run_to_resume
from tui_eval.engine.setup.suite_lock import at_work_on
from tui_eval.errors import Fault, Notice
from tui_eval.runs.layout import RunDir
from tui_eval.worker.description.info import EnvironmentSettings, Wanted, of_others, settings_of


class ExpandedRequest(msgspec.Struct, frozen=True):
    """The evaluations of a request, before anything of theirs is looked at.

    Args:
        evaluations: Each with the run that it resumes. Of one with a fault what is known of it.
        faults: Those known already.
        notices: Sentences for people.
    """

    request: Request
    expansion: Expansion
    evaluations: list[PlannedEvaluation]
    faults: list[Fault]
    notices: list[Notice]

    @property
    def is_suite(self) -> bool:
        """Whether there are several evaluations."""
        return len(self.expansion.evaluations) > 1

    def by_environment(self) -> list[list[int]]:
        """The indexes of evaluations of the same environment, or of none, each list in order."""
        found: dict[tuple[str, str, str], list[int]] = {}
        for index, one in enumerate(self.evaluations):
            key = (one.plan.env_id, str(one.plan.env_dir_path), one.plan.python or "")
            found.setdefault(key, []).append(index)
        return list(found.values())

    def to_open(self, *, estimates: bool = False) -> dict[int, EnvironmentSettings]:
        """Settings of each environment, once, by the index of its first evaluation.

        Args:
            estimates: See `Wanted.estimates`.
        """
        found = {}
        for indexes in self.by_environment():
            every = [self.evaluations[index] for index in indexes]
            if not every[0].plan.env_id:
                continue
            one = settings_to_open(every[0], estimates=estimates)
            columns = dict.fromkeys(name for each in every for name in each.plan.state_columns)
            others = [of_others(vars(each.plan)) for each in every[1:]]
            wanted = replace(one.wanted, columns=list(columns))
            found[indexes[0]] = replace(one, others=others, wanted=wanted)
        return found


def settings_to_open(one: PlannedEvaluation, *, estimates: bool = False) -> EnvironmentSettings:
    """The settings of an evaluation's environment.

    Args:
        estimates: See `Wanted.estimates`.
    """
    plan, run, before = one.plan, one.run, one.before
    wanted = Wanted(
        columns=plan.state_columns,
        resumes=str(run.path) if run is not None and before is not None else "",
        digest_before=before.examples_digest if before is not None else "",
        looks=not plan.no_preflight,
        estimates=estimates,
    )
    return settings_of(plan.model_dump(), wanted)


def expand_request(expander: Expander) -> ExpandedRequest:
    """Expands a request, and finds the runs that it resumes.

    Raises:
        RefusedError: The run to resume is not there, has no plan, or an engine is at work on it.
    """
    request, notices = expander.request, load_env_file()
    faults = name_model(request) if request.litellm_names else []
    is_suite = request.of_file and len(expander.expansion().evaluations) > 1
    run, before = (None, None) if is_suite else _run_alone(expander, notices)
    expansion = expander.expansion(before)
    faults = [*(Fault(*fault) for fault in request.faults), *faults, *expansion.faults]
    every = [(one.plan or one.draft, one.resume) for one in expansion.evaluations]
    evaluations = [PlannedEvaluation(plan, resume) for plan, resume in every if plan is not None]
    notices += expansion.notices
    if is_suite:
        faults += [] if faults else _put_runs(request, evaluations)
        faults += _resume_faults(request, evaluations, len(every), notices, is_right=not faults)
    elif run is not None and evaluations:
        is_comparable = all(fault.hint == ACCEPT for fault in expansion.faults)
        evaluations[0].run, evaluations[0].before = run, before if is_comparable else None
    return ExpandedRequest(request, expansion, evaluations, with_run(run, faults), notices)


def _run_alone(expander: Expander, notices: list[Notice]) -> tuple[RunDir | None, RunPlan | None]:
    """The run that a request of one evaluation resumes, with its plan; the process goes there."""
    run = run_to_resume(expander, notices)
    before = plan_before(run, expander) if run else None
    if run and before and expander.request.env_id is None:
        run = RunDir(run.path.resolve(), run.name)
        notices += go_to_its_folder(expander.request, before)
        expander.read_again()
    return run, before


def with_run(run: RunDir | None, faults: Iterable[Fault]) -> list[Fault]:
    """Faults of a resume, which also name the run, as the request may not."""
    return [
        one._replace(where=f"--resume {run.path}") if run and one.where == "--resume" else one
        for one in faults
    ]


def _put_runs(request: Request, evaluations: list[PlannedEvaluation]) -> list[Fault]:
    """Sets the run that each evaluation resumes, where the request names it."""
    if request.runs is None:
        return []
    if len(request.runs) != len(evaluations):
        what = f"it has {len(evaluations)} evaluations, and {len(request.runs)} are to be resumed"
        return [Fault(str(request.env_id), what, "Put back the evaluations that it had")]
    for one, path in zip(evaluations, request.runs, strict=True):
        one.resume = path or None
    return []


def _resume_faults(
    request: Request,
    evaluations: list[PlannedEvaluation],
    count: int,
    notices: list[Notice],
    *,
    is_right: bool,
) -> list[Fault]:
    """Gives evaluations the runs that they resume; returns faults of that.

    Args:
        count: Evaluations of the file.
        notices: Gets how many resume one.
        is_right: Whether there is no other fault, so that runs can be looked for.
    """
    faults: list[Fault] = []
    typed = request.raw.get("resume")
    if typed not in (None, NEWEST):
        what = f"{typed} is one run, and the file has {count} evaluations"
        hint = 'Type --resume alone, or write resume_path = "..." into the table of the evaluation'
        faults.append(Fault("--resume", what, hint))
    elif is_right:
        faults += choose_runs(evaluations, accept_changes=bool(request.raw.get("accept_changes")))
    if any(one.resume for one in evaluations):
        faults += _engine_faults(str(request.env_id))
        resumed = sum(one.run is not None for one in evaluations)
        text = f"{resumed} of {len(evaluations)} evaluations resume an earlier run"
        notices.append(Notice(text))
    return faults


def _engine_faults(file: str) -> list[Fault]:
    """The fault that an engine is at work on the same evaluations: it begins all of them."""
    held = at_work_on(Path(file))
    if held is None:
        return []
    hint = f"Join them: tui-eval open {shlex.quote(file)}"
    return [Fault(file, f"{held} is working on these evaluations", hint)]

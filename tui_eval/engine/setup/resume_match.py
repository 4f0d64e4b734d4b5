"""The choice of the runs that the evaluations of a file resume: each its own.

`resumed_run` says why one request has another search.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path

import msgspec

from tui_eval.config.adopted_plan import option_values, plan_to_resume
from tui_eval.config.compatibility import changes, misfit, rows_key, same_size, settings_faults
from tui_eval.config.options import NEWEST
from tui_eval.config.plan import RunPlan
from tui_eval.engine.setup.resumed_run import plan_of, roots_of
from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder
from tui_eval.runs.saved_run import find_run
from tui_eval.runs.unsaved import incomplete_runs


class PlannedEvaluation(msgspec.Struct):
    """One evaluation of a request, which may be the only one.

    Args:
        resume: The run that it is to resume: a path, `newest`, or None for a new run.
        run: The run that it resumes, and `before` the plan of that one; None for a new one.
    """

    plan: RunPlan
    resume: str | None = None
    run: RunDir | None = None
    before: RunPlan | None = None


class _Candidate(msgspec.Struct):
    run: RunDir
    plan: RunPlan
    key: str
    is_taken: bool = False


def choose_runs(
    evaluations: Sequence[PlannedEvaluation], *, accept_changes: bool, newest_first: bool = False
) -> list[Fault]:
    """Gives each evaluation the run that it resumes, where there is one.

    Without a path that is the newest incomplete run with the same settings, then a complete one;
    with `accept_changes` also one that was called the same and varied in the same way.

    Args:
        newest_first: Complete ones are as good as others: none is resumed.

    Returns:
        Faults of paths that were named, and of runs that an engine is at work on.
    """
    faults: list[Fault] = []
    taken: set[Path] = set()
    for one in evaluations:
        if one.resume and one.resume != NEWEST:
            try:
                _take_named(one, taken, accept_changes)
            except RefusedError as error:
                faults += error.faults
    seeking: dict[tuple[str | None, str], list[PlannedEvaluation]] = {}
    for one in evaluations:
        if one.resume == NEWEST:
            seeking.setdefault((one.plan.output_dir, one.plan.env_dir_path), []).append(one)
    for some in seeking.values():
        candidates = _candidates(some, taken, newest_first)
        _assign(some, candidates, rows_key, lambda now, then: same_size(now.model_dump(), then))
        _assign(some, candidates, rows_key, _fits)
        if accept_changes:
            _assign(some, candidates, _called, _fits)
        taken |= {one.run.path.resolve() for one in candidates if one.is_taken}
    return faults + [fault for one in evaluations for fault in _held(one)]


def _held(one: PlannedEvaluation) -> Iterator[Fault]:
    held = holder(one.run.lock) if one.run is not None else None
    if one.run is not None and held is not None:
        fault = held.fault(one.run.path)
        yield fault._replace(where=f"{one.plan.title}: {fault.where}")


def _take_named(one: PlannedEvaluation, taken: set[Path], accept_changes: bool) -> None:
    """Gives an evaluation the run that its table names.

    Raises:
        RefusedError: It cannot resume that one.
    """
    run = find_run(Path(str(one.resume)))
    plan = one.plan
    before = plan_to_resume(run, plan.env_id, option_values(plan))
    now = plan.model_dump()
    faults = settings_faults(plan.env_id, now, before, "resume", accepts=accept_changes)
    if run.path.resolve() in taken:
        what = "two evaluations cannot resume the same run"
        faults.append(Fault(str(run.path), what, "Name another one, or newest"))
    if faults:
        raise RefusedError(faults)
    taken.add(run.path.resolve())
    _take(one, run, before)


def _take(one: PlannedEvaluation, run: RunDir, before: RunPlan) -> None:
    one.run, one.before = run, before
    one.plan.save = one.plan.save or before.save
    one.plan.changes = [*before.changes, *changes(one.plan.model_dump(), before)]


def _candidates(
    seeking: Sequence[PlannedEvaluation], taken: Container[Path], newest_first: bool
) -> list[_Candidate]:
    """Runs that may be resumed, the newest first, and complete ones last where that matters.

    Args:
        seeking: Evaluations that look in the same folders.
        taken: Runs of others.
    """
    env_ids = {one.plan.env_id for one in seeking}
    found = []
    runs = incomplete_runs(roots_of(seeking[0].plan), all_of_them=True)
    if newest_first:
        runs.sort(key=lambda one: -one.written_at)
    for one in runs:
        if one.env_id in env_ids and one.run.path.resolve() not in taken:
            before = plan_of(one)
            if before is not None:
                found.append(_Candidate(one.run, before, rows_key(before)))
    return found


def _assign(
    seeking: Sequence[PlannedEvaluation],
    candidates: Sequence[_Candidate],
    key: Callable[[RunPlan], str],
    fits: Callable[[RunPlan, RunPlan], bool],
) -> None:
    by_key: dict[str, list[_Candidate]] = {}
    for candidate in candidates:
        if not candidate.is_taken:
            by_key.setdefault(key(candidate.plan), []).append(candidate)
    for one in seeking:
        if one.run is not None:
            continue
        for candidate in by_key.get(key(one.plan), ()):
            if not candidate.is_taken and fits(one.plan, candidate.plan):
                candidate.is_taken = True
                _take(one, candidate.run, candidate.plan)
                break


def _called(plan: RunPlan) -> str:
    return json.dumps([plan.env_id, plan.name, plan.varies], sort_keys=True)


def _fits(now: RunPlan, before: RunPlan) -> bool:
    """Whether a run has what is requested, or lacks examples of it alone."""
    return not misfit(now.env_id, now.model_dump(), before)

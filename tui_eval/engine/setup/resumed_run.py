"""The choice of the run that a command resumes, with the reasons against others.

`--resume` alone has three searches over one list (`incomplete_runs`), since they know different
things. Here one request is known: of its settings only those that were typed are required, so a run
with others may be resumed and keeps them, and a complete one may be extended. `resume_match` knows
all evaluations of a file, which says every setting: only runs with the same ones fit (or that were
called the same, where changes are accepted), and no run is given to two evaluations. `newest_here`,
of the command line, knows no environment: the folder alone says which run is meant, so one that was
begun elsewhere is only named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tui_eval.config.adopted_plan import option_values, plan_to_resume
from tui_eval.config.compatibility import changes, misfit, rows_key, same_size
from tui_eval.config.env_file import load_env_file
from tui_eval.config.expansion import Expander
from tui_eval.config.options import NEWEST
from tui_eval.config.plan import Request, RunPlan, read_plan
from tui_eval.errors import Notice, RefusedError
from tui_eval.runs.layout import RunDir, saved_roots
from tui_eval.runs.lock import holder
from tui_eval.runs.saved_run import find_run
from tui_eval.runs.unsaved import Incomplete, incomplete_runs

MOST_SHOWN = 5
"""Number of runs passed over that are named."""


def run_to_resume(expander: Expander, notices: list[Notice]) -> RunDir | None:
    """The run that a request resumes; None for a new one.

    Args:
        notices: Gets which run it is, and which were passed over and why.

    Raises:
        RefusedError: A path was given and there is no run, or an engine is at work on it.
    """
    named = expander.resume
    if not named:
        return None
    if named != NEWEST:
        return _free(find_run(Path(named)))
    plan = expander.plan()
    if plan is None:
        return None
    search = Search(expander, plan, incomplete_runs(roots_of(plan), all_of_them=True))
    one = search.choose()
    if one is not None:
        notices[:0] = [Notice(one.resuming), *search.passed_over(one)]
        notices += search.kept
        return _free(one.run)
    notices.append(Notice("No incomplete run matches; starting a new one."))
    notices += search.passed_over(None)
    return None


def plan_before(run: RunDir, expander: Expander) -> RunPlan:
    """The plan of a run that a request resumes, whichever program began it.

    Raises:
        RefusedError: There is none, and the request does not give what is missing.
    """
    if run.is_ours:
        return read_plan(run.plan)
    request = expander.request
    plan = expander.draft() if request.of_file else None
    if plan is None:
        typed = expander.typed
        return plan_to_resume(run, request.env_id, typed.values, typed.faults)
    return plan_to_resume(run, plan.env_id, option_values(plan))


def roots_of(plan: RunPlan) -> list[Path]:
    """The folders of an evaluation's saved runs: the one that it names, or all here."""
    return [Path(plan.output_dir)] if plan.output_dir else saved_roots(Path(plan.env_dir_path))


def plan_of(one: Incomplete) -> RunPlan | None:
    """The plan of a run that may be resumed without being named; None for any other.

    Its plan can be read, no program gave its inputs, and it is saved here or was begun in this
    folder: unsaved ones are all in one place.
    """
    try:
        before = read_plan(one.run.plan)
    except RefusedError:
        return None
    is_of_here = not one.unsaved or before.folder in ("", str(Path.cwd()))
    return before if is_of_here and not before.given_inputs else None


class Search:
    """The search for a run that has what is requested, or can be extended to it.

    Rollouts of an example have to be as many as somebody requested, examples at most as many.

    Args:
        plan: Of a new run.
        every: All runs, incomplete ones first, the newest first.
    """

    def __init__(self, expander: Expander, plan: RunPlan, every: Sequence[Incomplete]) -> None:
        self._expander = expander
        self._plan = plan
        self._every = every
        self._sizes = _requested_sizes(expander, plan)
        self.kept: list[Notice] = []
        """The settings that the chosen run keeps, where no run has the same."""

    def choose(self) -> Incomplete | None:
        """The newest run of the same settings, also one that is complete; else one to resume.

        Saved ones come before unsaved ones, and one that has what is requested before those that
        would be extended to it.
        """
        plan = self._plan
        named = [
            (one, before)
            for one in self._every
            if (one.env_id, one.model) == (plan.env_id, plan.model)
            and (before := self._plan_of(one))
        ]
        named = [(one, before) for one, before in named if not self._misfit(before)]
        same = [(one, before) for one, before in named if rows_key(before) == rows_key(plan)]
        if same:
            return min(same, key=lambda found: (found[0].unsaved, self._is_more(found[1])))[0]
        for one, before in sorted(named, key=lambda found: found[0].unsaved):
            if self._is_more(before) or not one.is_complete:
                resumed = self._expander.draft(before)
                found = changes(plan.model_dump(), resumed) if resumed else []
                self.kept = [Notice(f"It keeps its own {own.name}: {own.before}") for own in found]
                return one
        return None

    def passed_over(self, chosen: Incomplete | None) -> Iterator[Notice]:
        """Runs that were not chosen, and why: of the same environment and model where one was
        chosen, the newer ones; otherwise any. Of complete ones only those of the same both.
        """
        text = 0
        for one in self._every:
            if one is chosen or (one.at_work and chosen is None):
                continue
            why = self._why_not(one, chosen)
            if why and text < MOST_SHOWN:
                text += 1
                kind = ", unsaved" if one.unsaved else ""
                which = f"{one.env_id} with {one.model}, {one.progress}{kind}: {one.run.path}"
                yield Notice(f"Passed over {which} ({why})")

    def _why_not(self, one: Incomplete, chosen: Incomplete | None) -> str:
        """Empty for a run that nobody would have expected to be chosen."""
        plan = self._plan
        is_alike = (one.env_id, one.model) == (plan.env_id, plan.model)
        if not is_alike:
            other = "environment" if one.env_id != plan.env_id else "model"
            return f"another {other}" if chosen is None and not one.is_complete else ""
        if chosen is not None and one.written_at < chosen.written_at:
            return ""
        before = self._plan_of(one)
        if before is None:
            return "" if one.is_complete else self._why_none(one)
        if misfit := self._misfit(before):
            return misfit
        if one.is_complete:
            found = changes(plan.model_dump(), before) if chosen is None else []
            return "".join(f"it is complete, and {differs}" for differs in found[:1])
        if chosen is not None and one.unsaved and not chosen.unsaved:
            return "it is unsaved, and a saved one fits"
        return "another one has the same settings, or is nearer to the request"

    def _plan_of(self, one: Incomplete) -> RunPlan | None:
        """The plan of a run, or folder of verifiers, that may be resumed without being named."""
        if one.run.is_ours:
            return plan_of(one)
        try:
            return plan_before(one.run, self._expander)
        except RefusedError:
            return None

    def _why_none(self, one: Incomplete) -> str:
        """Why a run may not be resumed without being named."""
        try:
            before = plan_before(one.run, self._expander)
        except RefusedError as error:
            return "; ".join(fault.what for fault in error.faults)
        if before.given_inputs:
            return "a program gave its inputs"
        return f"it was begun in {before.folder}"

    def _misfit(self, before: RunPlan) -> str:
        return misfit(None, self._sizes, before)

    def _is_more(self, before: RunPlan) -> bool:
        """Whether a run that fits would be extended."""
        return not same_size(self._sizes, before)


def _requested_sizes(expander: Expander, plan: RunPlan) -> Mapping[str, int]:
    """Examples (-1 for all) and rollouts of each, where somebody named them."""
    request = expander.request
    named = set(request.raw) | (plan.sources.keys() if request.of_file else set())
    named |= {".".join(path) for path, _ in expander.typed.sets}
    return plan.model_dump(include=named & {"num_examples", "rollouts_per_example"})


def _free(run: RunDir) -> RunDir:
    """The run, if nobody works on it.

    Raises:
        RefusedError: An engine does.
    """
    held = holder(run.lock)
    if held is not None:
        raise RefusedError([held.fault(run.path)])
    return run


_PATHS = ("endpoints_path", "env_dir_path", "output_dir")
"""Options that name a file or folder."""


def go_to_its_folder(request: Request, before: RunPlan) -> list[Notice]:
    """Changes to the folder where a run was begun: relative paths of its plan and code are there.

    Nothing happens where that folder is gone. Paths that were typed are made absolute.
    """
    folder = Path(before.folder)
    if not before.folder or not folder.is_dir() or folder.samefile(Path.cwd()):
        return []
    for name in _PATHS:
        if request.raw.get(name):
            request.raw[name] = str(Path(request.raw[name]).absolute())
    for name in ("TUI_EVAL_STATE_DIR", "TUI_EVAL_CACHE_DIR"):
        if named := os.environ.get(name):
            os.environ[name] = str(Path(named).absolute())
    os.chdir(folder)
    return [Notice(f"Working in {folder}, where the run was begun"), *load_env_file()]

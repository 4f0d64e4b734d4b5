"""The preflight of several evaluations: everything is checked before the first begins."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tui_eval import clock
from tui_eval.config.command_line import resume_words
from tui_eval.config.env_file import load_env_file
from tui_eval.config.expansion import Expander, Expansion
from tui_eval.config.list_prices import blind_text, take_list_prices
from tui_eval.config.options import BUDGETS, BY_NAME, NEWEST
from tui_eval.config.plan import Request
from tui_eval.config.settings import place_of
from tui_eval.engine.limits.limits import Phases
from tui_eval.engine.limits.open_file_room import open_file_notices, within_open_files
from tui_eval.engine.setup.endpoint_checks import check_endpoints
from tui_eval.engine.setup.examine import Checked, examine, settings_to_open
from tui_eval.engine.setup.hub_faults import hub_faults
from tui_eval.engine.setup.opened import Opened, open_environment
from tui_eval.engine.setup.preflight import COLUMNS, column_faults, column_notices, outputs_fault
from tui_eval.engine.setup.resume_match import Planned, choose_runs
from tui_eval.engine.suite.suite_lock import at_work_on
from tui_eval.errors import Fault, Notice, RefusedError, warning
from tui_eval.events import ListedEvaluation, SuiteStarted
from tui_eval.worker.describing.info import EnvironmentSettings, of_others, settings_of

if TYPE_CHECKING:
    from tui_eval.config.plan import RunPlan
    from tui_eval.config.plan_builder import Evaluation

LIMITS = ("max_concurrent", "max_concurrent_generation", "max_concurrent_scoring")


class SuitePreflight(msgspec.Struct):
    """Evaluations that have passed their preflight.

    Args:
        checked: Examined requests, by the index of their evaluation.
        limits: Those that all evaluations share, in the order of `LIMITS`; 0 for none.
        max_cost, max_total_tokens: The budget of all of them together.
        notices: Sentences for people.
    """

    evaluations: list[Planned]
    checked: dict[int, Checked] = msgspec.field(default_factory=dict)
    limits: tuple[int, int, int] = (0, 0, 0)
    max_cost: float | None = None
    max_total_tokens: int | None = None
    notices: list[Notice] = msgspec.field(default_factory=list)

    async def take(self, request: Request, index: int) -> Checked:
        """Takes an evaluation that is to begin, with its environment.

        Raises:
            RefusedError: With everything that is wrong.
        """
        if (checked := self.checked.pop(index, None)) is not None:
            return checked
        opened = await open_environment(settings_to_open(self.evaluations[index]))
        with opened.closed_on_error():
            return examine(request, self.evaluations[index], opened, [], [])

    def close(self) -> None:
        """Ends the workers that wait for evaluations, which do not begin any more."""
        for checked in self.checked.values():
            checked.opened.close()


def expand_suite(expander: Expander) -> Expansion | None:
    """The evaluations of a request for a file that has more than one; None for any other."""
    if not expander.request.of_file:
        return None
    load_env_file()
    expansion = expander.expansion()
    return expansion if len(expansion.evaluations) > 1 else None


class SuiteDraft(msgspec.Struct, frozen=True):
    """Evaluations of a file, expanded, with the runs that they resume.

    Args:
        planned: Those without a fault so far.
        faults: Of all others.
    """

    request: Request
    expansion: Expansion
    planned: list[Planned]
    faults: list[Fault]

    @property
    def is_whole(self) -> bool:
        """Whether each evaluation has a plan."""
        return len(self.planned) == len(self.expansion.evaluations)

    def to_open(self, *, estimates: bool = False) -> dict[int, EnvironmentSettings]:
        """Settings of each environment, once, by the index of its first evaluation.

        Args:
            estimates: See `Wanted.estimates`.
        """
        found = {}
        for settings in _by_environment(self.expansion.evaluations).values():
            (index, first), *further = settings.items()
            one = settings_of(first)
            if self.is_whole:
                one = settings_to_open(self.planned[index], estimates=estimates)
            every = {name: None for values in settings.values() for name in _columns(values)}
            wanted = replace(one.wanted, columns=list(every))
            others = [of_others(values) for _, values in further]
            found[index] = replace(one, others=others, wanted=wanted)
        return found


def draft_suite(request: Request, expansion: Expansion) -> SuiteDraft:
    """Finds the runs that several evaluations resume; writes nothing."""
    evaluations = expansion.evaluations
    planned = [Planned(one.plan, one.resume) for one in evaluations if one.plan is not None]
    faults = [*(Fault(*fault) for fault in request.faults), *expansion.faults]
    faults += _put_runs(request, planned)
    faults += _resume_faults(request, planned, count=len(evaluations), is_right=not faults)
    return SuiteDraft(request, expansion, planned, faults)


def preflight_suite(draft: SuiteDraft, opened: Mapping[int, Opened]) -> SuitePreflight:
    """Checks the environments and endpoints of several evaluations, each once.

    Args:
        opened: See `SuiteDraft.to_open`.

    Raises:
        RefusedError: With everything that is wrong.
    """
    request, expansion, planned = draft.request, draft.expansion, draft.planned
    in_flight, generation, scoring = _limits(planned, expansion)
    total = _total(planned)
    lowered = within_open_files(in_flight, total)
    found = SuitePreflight(planned, limits=(lowered, generation, scoring))
    found.notices += open_file_notices(in_flight, total)
    faults = draft.faults + _look_at_environments(draft, opened, found)
    if not request.raw.get("no_preflight"):
        drafts = [one.draft for one in expansion.evaluations if one.draft is not None]
        faults += _shared_faults(planned, drafts, found.notices)
    if faults:
        raise RefusedError(dict.fromkeys(faults))
    budget = {name: expansion.typed[name].value for name in expansion.typed}
    found.max_cost, found.max_total_tokens = budget.get("max_cost"), budget.get("max_total_tokens")
    found.notices[:0] = [*load_env_file(), *expansion.notices]
    found.notices += _prices(found)
    again = sum(one.run is not None for one in planned)
    if any(one.resume for one in planned):
        text = f"{again} of {len(planned)} evaluations resume an earlier run"
        found.notices.append(Notice(text))
    return found


def _resume_faults(
    request: Request, planned: Sequence[Planned], *, count: int, is_right: bool
) -> list[Fault]:
    """Gives evaluations the runs that they resume; returns faults of that.

    Args:
        count: Evaluations of the file.
        is_right: Whether there is no other fault, so that runs can be looked for.
    """
    faults: list[Fault] = []
    typed = request.raw.get("resume")
    if typed not in (None, NEWEST):
        what = f"{typed} is one run, and the file has {count} evaluations"
        hint = 'Type --resume alone, or write resume_path = "..." into the table of the evaluation'
        faults.append(Fault("--resume", what, hint))
    elif is_right:
        faults += choose_runs(planned, accept_changes=bool(request.raw.get("accept_changes")))
    if any(one.resume for one in planned):
        faults += _engine_faults(str(request.env_id))
    return faults


def _shared_faults(
    planned: Sequence[Planned], drafts: Sequence[RunPlan], notices: list[Notice]
) -> list[Fault]:
    """Faults of endpoints, the hub and folders, each checked once.

    Args:
        drafts: Plans of evaluations with other faults.
    """
    plans = [one.plan for one in planned]
    faults = check_endpoints([*plans, *drafts], notices) + hub_faults(plans, notices)
    new = [*(one.plan for one in planned if one.run is None), *drafts]
    places = {(p.env_id, p.save, p.output_dir, p.env_dir_path): p for p in new}
    return faults + [fault for plan in places.values() for fault in outputs_fault(plan)]


def _prices(found: SuitePreflight) -> list[Notice]:
    """Takes list prices where there are no others; a notice where a limit of cost has none."""
    plans = [one.plan for one in found.evaluations]
    notices = [notice for plan in plans for notice in take_list_prices(plan)]
    blind = [one.alias for one in plans if None in (one.input_price, one.output_price)]
    if found.max_cost is not None and blind and not notices:
        notices.append(warning(blind_text(blind)))
    return list(dict.fromkeys(notices))


def _put_runs(request: Request, planned: Sequence[Planned]) -> list[Fault]:
    """Sets the run that each evaluation resumes, where the request names it."""
    if request.runs is None:
        return []
    if len(request.runs) != len(planned):
        what = f"it has {len(planned)} evaluations, and {len(request.runs)} are to be resumed"
        return [Fault(str(request.env_id), what, "Put back the evaluations that it had")]
    for one, path in zip(planned, request.runs, strict=True):
        one.resume = path or None
    return []


def _engine_faults(file: str) -> list[Fault]:
    """The fault that an engine is at work on the same evaluations: it begins all of them."""
    held = at_work_on(Path(file))
    if held is None:
        return []
    hint = f"Join them: tui-eval open {shlex.quote(file)}"
    return [Fault(file, f"{held} is working on these evaluations", hint)]


def _look_at_environments(
    draft: SuiteDraft, opened: Mapping[int, Opened], found: SuitePreflight
) -> list[Fault]:
    """Checks each environment once, with the arguments of its first evaluation.

    Arguments and columns of every evaluation are looked for in that environment.
    """
    faults: list[Fault] = []
    looks = not draft.request.raw.get("no_preflight")
    for settings in _by_environment(draft.expansion.evaluations).values():
        index = next(iter(settings))
        info = opened[index].info
        if draft.is_whole:
            try:
                one = found.evaluations[index]
                found.checked[index] = examine(draft.request, one, opened[index], [], [])
            except RefusedError as error:
                info = None
                faults += error.faults
        else:
            faults += opened[index].faults
        looked_at: set[tuple[str, ...]] = set()
        for values in settings.values() if looks else ():
            columns = _columns(values)
            if columns not in looked_at:
                looked_at.add(columns)
                where = place_of(values["sources"], "state_columns", COLUMNS)
                faults += column_faults(columns, info, where)
                found.notices += column_notices(columns, info)
    return faults


def _columns(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(values["state_columns"] or ())


def _by_environment(
    evaluations: Sequence[Evaluation],
) -> dict[tuple[Any, ...], dict[int, dict[str, Any]]]:
    """Settings and `sources` of evaluations by their index, grouped by environment."""
    found: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for index, one in enumerate(evaluations):
        values = {name: setting.value for name, setting in one.settings.items()}
        values["sources"] = {name: setting.source for name, setting in one.settings.items()}
        if values.get("env_id"):
            key = (values["env_id"], values["env_dir_path"], values["python"])
            found.setdefault(key, {})[index] = values
    return found


def _limits(planned: Sequence[Planned], expansion: Expansion) -> tuple[int, int, int]:
    """The limits of the file for all; else as many rollouts as the evaluation with most."""
    each = [_most_at_once(one.plan) for one in planned]
    most = 0 if 0 in each else max(each, default=0)
    top = {name: expansion.top[name].value or 0 for name in LIMITS if name in expansion.top}
    in_flight, generation, scoring = (top.get(name, 0) for name in LIMITS)
    return (max(in_flight, 0) if LIMITS[0] in top else most, generation, scoring)


def _total(planned: Sequence[Planned]) -> int:
    """The most rollouts in all; 0 where that depends on the sizes of datasets."""
    requested = [(one.plan.num_examples, one.plan.rollouts_per_example) for one in planned]
    return (
        sum(examples * each for examples, each in requested)
        if all(n > 0 for n, _ in requested)
        else 0
    )


def _most_at_once(plan: RunPlan) -> int:
    """The most rollouts that an evaluation may have in flight; 0 for any number."""
    own = plan.max_concurrent_generation, plan.max_concurrent_scoring
    in_flight, *apart = Phases(plan.max_concurrent, *own).bounds()
    return sum(apart) if any(own) and all(apart) else max(in_flight, 0)


def suite_started(
    request: Request, path: str, listed: list[ListedEvaluation], max_concurrent: int
) -> SuiteStarted:
    """The suite's first event."""
    words, is_edited = resume_words(request.raw), request.text is not None
    budgets = [BY_NAME[name].flags[0] for name in BUDGETS if request.raw.get(name)]
    return SuiteStarted(0, clock.now(), path, listed, max_concurrent, words, budgets, is_edited)

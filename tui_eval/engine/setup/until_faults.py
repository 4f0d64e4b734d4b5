"""What is wrong with the condition that is to stop a run early."""

from __future__ import annotations

from tui_eval.config.plan import RunPlan
from tui_eval.config.settings import place_of
from tui_eval.errors import Fault, Notice
from tui_eval.fold.anytime import REWARD, anytime_means
from tui_eval.fold.condition_parser import check_names, parse_condition
from tui_eval.fold.conditions import ConditionError
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import saved_events
from tui_eval.worker.describing.info import EnvironmentInfo


def until_faults(
    plan: RunPlan, info: EnvironmentInfo, run: RunDir | None, notices: list[Notice]
) -> list[Fault]:
    """What is wrong with the condition that is to stop a run.

    Args:
        run: What it resumes; None for a new one.
        notices: Gets what it takes for granted.
    """
    if not plan.until:
        return []
    if not plan.shuffle:
        text = "--until takes the order of the dataset as random; --shuffle makes it so"
        notices.append(Notice(text))
    where = "--until"
    if place := place_of(plan.sources, "until", ""):
        where = f"{place}: until"
    if plan.score_at_end:
        what = "no reward is known before all rollouts are generated"
        return [Fault(where, what, "Leave out -N, or --until")]
    if not info.has_more_metrics:
        try:
            check_names(parse_condition(plan.until, where), [REWARD, *info.metrics])
        except ConditionError as error:
            return error.faults
    return _outside(plan.until, where, run) if run is not None else []


def _outside(until: str, where: str, run: RunDir) -> list[Fault]:
    """Rewards on disk that are known to be in no range that has an interval."""
    state = RunState()
    for event in saved_events(run):
        state.apply(event)
    if state.run is not None:
        state.run.until = until
    means = anytime_means(state)
    found = means.unusable if means is not None else {}
    hint = "Leave the condition out: it needs rewards from 0 to 1"
    return [Fault(where, f"in the run a {name} of {why}", hint) for name, why in found.items()]

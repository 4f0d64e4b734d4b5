"""A dry run: the plan and the estimate of a run that is not started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.config.expansion import Expander
from tui_eval.config.explanation import plain_settings
from tui_eval.engine.setup.expanded_request import expand_request, settings_to_open
from tui_eval.engine.setup.opened_environment import open_for_a_look
from tui_eval.engine.setup.preflight import Checked, Preflight, examine, preflight
from tui_eval.engine.setup.prepare import redactor_of
from tui_eval.engine.setup.resume import journal_notices
from tui_eval.errors import Fault, Notice, RefusedError, warning
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.rescue import find_rescued
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.scan import count_rows
from tui_eval.runs.summary_json import VERSION, refused_object
from tui_eval.stats.cost import cost_of, run_prices
from tui_eval.worker.description.info import FirstRequest

if TYPE_CHECKING:
    from tui_eval.config.plan import Request, RunPlan
    from tui_eval.config.plan_builder import Evaluation

CHARACTERS_PER_TOKEN = 4
HOW = (
    "Estimated for one model call per rollout: characters of prompt and tools / "
    f"{CHARACTERS_PER_TOKEN}, and max_tokens for each answer; further turns cost more"
)


def dry_run(request: Request) -> dict[str, Any]:
    """The runs that a request would start, or every fault of it, as plain JSON data.

    Nothing is written and no model is called.
    """
    redact = Redactor()
    try:
        expanded = expand_request(Expander(request))
        redact = redactor_of(one.plan for one in expanded.evaluations)
        opened = expanded.to_open(estimates=True).items()
        found = preflight(expanded, {index: open_for_a_look(one) for index, one in opened})
        plans, notices = _plans(found)
    except RefusedError as error:
        return refused_object(Fault(*map(redact.text, fault)) for fault in error.faults)
    shown = [notice._asdict() for notice in dict.fromkeys([*found.notices, *notices])]
    planned = _of_several(found, plans) if expanded.is_suite else plans[0]
    cleaned: dict[str, Any] = Cleaner().clean({**planned, "notices": shown})
    return cleaned


def _plans(found: Preflight) -> tuple[list[dict[str, Any]], list[Notice]]:
    """The plan of each evaluation, and their notices.

    Raises:
        RefusedError: With the faults of all.
    """
    plans: list[dict[str, Any]] = []
    notices: list[Notice] = []
    faults: list[Fault] = []
    for index, one in enumerate(found.evaluations):
        try:
            checked = found.checked.pop(index, None)
            if checked is None:
                opened = open_for_a_look(settings_to_open(one, estimates=True))
                checked = examine(found.expanded.request, one, opened)
        except RefusedError as error:
            faults += error.faults
            continue
        notices += checked.notices
        if checked.run is not None:
            notices += [warning(one.text) for one in find_rescued(checked.run)]
            notices += journal_notices(checked.run, replayable=checked.info.replayable)
        plans.append(_planned(checked, found.expanded.expansion.evaluations[index]))
    if faults:
        raise RefusedError(dict.fromkeys(faults))
    return plans, notices


def _of_several(found: Preflight, plans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The plans of a file's evaluations, with their totals."""
    estimates = [plan["estimate"] for plan in plans]
    every = zip(found.evaluations, plans, strict=True)
    return {
        "version": VERSION,
        "status": "planned",
        "exit_code": 0,
        "evaluations": [
            {"title": one.plan.title, "varies": one.plan.varies, **plan} for one, plan in every
        ],
        "rollouts": sum(plan["rollouts"] for plan in plans),
        "max_concurrent": found.limits[0],
        "estimate": {
            "how": HOW,
            **{name: _sum(estimates, name) for name in ("input_tokens", "output_tokens", "usd")},
            "list_price": next((one["list_price"] for one in estimates if one["list_price"]), None),
        },
    }


def _sum(estimates: Sequence[Mapping[str, Any]], name: str) -> Any:
    values = [one[name] for one in estimates]
    return None if None in values else sum(values)


def _planned(checked: Checked, evaluation: Evaluation) -> dict[str, Any]:
    """The plan of one evaluation."""
    plan, info, count = checked.plan, checked.info, checked.opened.count
    left = _left(checked, keep_errors=bool(evaluation.settings["keep_errors"].value))
    sent = info.first_request
    assert sent is not None, "it was wanted"
    sampling_args = {**info.sampling_args, **plan.sampling_args}
    return {
        "version": VERSION,
        "status": "planned",
        "exit_code": 0,
        "env_id": plan.env_id,
        "model": plan.model,
        "base_url": plan.base_url,
        "examples": count,
        "rollouts_per_example": plan.rollouts_per_example,
        "rollouts": count * plan.rollouts_per_example,
        "left": left,
        "goes_on": str(checked.run.path) if checked.run else None,
        "settings": plain_settings(evaluation),
        "first_prompt": sent.first_prompt,
        "tools": sent.tools,
        "reward_functions": [{"name": name, "weight": one} for name, one in sent.functions],
        "estimate": _estimate(plan, sampling_args, sent, left),
    }


def _left(checked: Checked, keep_errors: bool) -> int:
    """Rollouts that are still to run: all, but for those that a resumed run has."""
    rollouts = checked.opened.count * checked.plan.rollouts_per_example
    if checked.run is None or not checked.run.results.exists():
        return rollouts
    errored = 0 if keep_errors else read_metadata(checked.run).get("n_errored")
    again = errored if isinstance(errored, int) else 0
    rescued = sum(len(one.rows) for one in find_rescued(checked.run))
    return max(0, rollouts - count_rows(checked.run.results) - rescued + again)


def _estimate(
    plan: RunPlan, sampling_args: dict[str, Any], sent: FirstRequest, rollouts: int
) -> dict[str, Any]:
    """Tokens and USD of one model call for each rollout; None where not known."""
    characters = sent.characters + sent.tool_characters
    put = round(characters / CHARACTERS_PER_TOKEN * rollouts)
    longest = sampling_args.get("max_completion_tokens") or sampling_args.get("max_tokens")
    got = longest * rollouts if isinstance(longest, int) else None
    usd = None if got is None else cost_of(put, got, run_prices(plan))
    return {
        "how": HOW,
        "input_tokens": put,
        "output_tokens": got,
        "usd": usd,
        "list_price": plan.list_price or None,
    }

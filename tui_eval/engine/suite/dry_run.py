"""The plan and estimate of a run that is not started."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from tui_eval.config.expansion import Expander, Expansion
from tui_eval.config.explaining import plain_settings
from tui_eval.engine.setup.examine import Checked, check
from tui_eval.engine.setup.scoring_faults import rubrics_of
from tui_eval.engine.suite.suite_preflight import examine_one, expand_suite, preflight_suite
from tui_eval.environments.env_group import EnvGroup
from tui_eval.errors import RefusedError
from tui_eval.messages import to_messages
from tui_eval.rubrics.calling import metric_names
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.scan import count_rows
from tui_eval.runs.summary_json import VERSION, refused_object
from tui_eval.stats.cost import cost_of, run_prices
from tui_eval.types import Tool

if TYPE_CHECKING:
    from tui_eval.config.plan import Request, RunPlan
    from tui_eval.config.plan_builder import Evaluation
    from tui_eval.environments.environment import Environment

CHARACTERS_PER_TOKEN = 4
HOW = (
    "Estimated for one model call per rollout: characters of prompt and tools / "
    f"{CHARACTERS_PER_TOKEN}, and max_tokens for each answer; further turns cost more"
)
MEASURED_AT_MOST = 1000
"""Prompts that are measured; the others count as their mean."""


def dry_run(request: Request) -> dict[str, Any]:
    """What a request would run, or every fault that it would be refused for, as plain JSON data.

    Nothing is written and no model is called.
    """
    try:
        expander = Expander(request)
        several = expand_suite(expander)
        if several is not None:
            return _clean(_several(request, several))
        checked = check(expander)
    except RefusedError as error:
        return refused_object(error.faults)
    evaluation = expander.expansion(checked.before).evaluations[0]
    notices = [asdict(notice) for notice in checked.notices]
    return _clean({**_planned(checked, evaluation), "notices": notices})


def _clean(found: dict[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = Cleaner().clean(found)
    return cleaned


def _several(request: Request, several: Expansion) -> dict[str, Any]:
    """The plans of a file's evaluations, with what all of them come to."""
    found = preflight_suite(request, several)
    notices = list(found.notices)
    plans, faults = [], []
    for place, one in enumerate(found.evaluations):
        try:
            checked = found.checked.pop(place, None) or examine_one(request, one)
        except RefusedError as error:
            faults += error.faults
            continue
        name = {"title": one.plan.title, "varies": one.plan.varies}
        plans.append({**name, **_planned(checked, several.evaluations[place])})
        notices += checked.notices
    if faults:
        return refused_object(dict.fromkeys(faults))
    estimates = [plan["estimate"] for plan in plans]
    return {
        "version": VERSION,
        "status": "planned",
        "exit_code": 0,
        "evaluations": plans,
        "rollouts": sum(plan["rollouts"] for plan in plans),
        "max_concurrent": found.limits[0],
        "estimate": {
            "how": HOW,
            **{name: _sum(estimates, name) for name in ("input_tokens", "output_tokens", "usd")},
            "list_price": next((one["list_price"] for one in estimates if one["list_price"]), None),
        },
        "notices": [asdict(notice) for notice in dict.fromkeys(notices)],
    }


def _sum(estimates: Sequence[Mapping[str, Any]], name: str) -> Any:
    values = [one[name] for one in estimates]
    return None if None in values else sum(values)


def _planned(checked: Checked, evaluation: Evaluation) -> dict[str, Any]:
    """What one evaluation would be."""
    plan, env, table = checked.plan, checked.env, checked.table
    tools = _tools(env)
    left = _left(checked, keep_errors=bool(evaluation.settings["keep_errors"].value))
    sampling_args = {**env.sampling_args, **plan.sampling_args}
    return {
        "version": VERSION,
        "status": "planned",
        "exit_code": 0,
        "env_id": plan.env_id,
        "model": plan.model,
        "base_url": plan.base_url,
        "examples": len(table),
        "rollouts_per_example": plan.rollouts_per_example,
        "rollouts": len(table) * plan.rollouts_per_example,
        "left": left,
        "goes_on": str(checked.run.path) if checked.run else None,
        "settings": plain_settings(evaluation),
        "first_prompt": to_messages(table[0]["prompt"]) if len(table) else [],
        "tools": [tool.model_dump(include={"name", "description", "parameters"}) for tool in tools],
        "reward_functions": _reward_functions(env),
        "estimate": _estimate(plan, sampling_args, table, tools, left),
    }


def _left(checked: Checked, keep_errors: bool) -> int:
    """Rollouts that are still to run: all, but for those that a resumed run has."""
    rollouts = len(checked.table) * checked.plan.rollouts_per_example
    if checked.run is None or not checked.run.results.exists():
        return rollouts
    errored = 0 if keep_errors else read_metadata(checked.run).get("n_errored")
    again = errored if isinstance(errored, int) else 0
    return max(0, rollouts - count_rows(checked.run.results) + again)


def _tools(env: Environment) -> list[Tool]:
    """The tools of an environment, or of all members of a group, each once."""
    members = env.members if isinstance(env, EnvGroup) else []
    found = [*(env.tool_defs or []), *(tool for one in members for tool in _tools(one))]
    return list({tool.model_dump_json(): tool for tool in found}.values())


def _reward_functions(env: Environment) -> list[dict[str, Any]]:
    return [
        {"name": name, "weight": weight}
        for rubric in rubrics_of(env)
        for name, weight in zip(metric_names(rubric.funcs), rubric.weights, strict=True)
    ]


def _estimate(
    plan: RunPlan, sampling_args: dict[str, Any], table: Any, tools: Sequence[Tool], rollouts: int
) -> dict[str, Any]:
    """Tokens and USD of one model call for each of so many rollouts; None where not known."""
    measured = [_characters(row["prompt"]) for row in islice(table, MEASURED_AT_MOST)]
    mean = sum(measured) / len(measured) if measured else 0.0
    described = sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools)
    put = round((mean + described) / CHARACTERS_PER_TOKEN * rollouts)
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


def _characters(prompt: Any) -> int:
    if isinstance(prompt, str):
        return len(prompt)
    texts = [message.get("content") for message in to_messages(prompt)]
    return sum(
        len(text if isinstance(text, str) else json.dumps(text, default=str)) for text in texts
    )

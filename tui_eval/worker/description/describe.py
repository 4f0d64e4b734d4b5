"""Describes an environment for an engine, in the process that has loaded it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.environments.env_group import EnvGroup
from tui_eval.messages import to_messages
from tui_eval.rubrics.reward_call import metric_names as names_of
from tui_eval.runs.plain_json import Cleaner
from tui_eval.types import Tool
from tui_eval.worker.description.code import code_now, unwritten_columns
from tui_eval.worker.description.info import EnvironmentInfo, FirstRequest, Wanted
from tui_eval.worker.description.scoring import (
    group_functions,
    has_more_metrics,
    metric_names,
    missing_modules,
    rubrics_of,
    scoring_faults,
)
from tui_eval.worker.digests import examples_digest, run_before, version_of
from tui_eval.worker.examples import pass_threshold
from tui_eval.worker.overrides import single_turn_names

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment

MEASURED_AT_MOST = 1000
"""Prompts that are measured; the others count as their mean."""


def describe(
    env: Environment,
    inputs: Iterable[Mapping[str, Any]],
    wanted: Wanted,
    env_id: str,
    folder: Path,
) -> EnvironmentInfo:
    """Describes an environment.

    Args:
        inputs: Its examples, or one input of each; can be read several times.
        env_id: Its name in the request.
        folder: The folder of local environments.

    Raises:
        RefusedError: Its pass threshold is no number.
    """
    looks, version = wanted.looks, version_of(env_id, folder)
    return EnvironmentInfo(
        env_id=env.env_id or env_id,
        pass_threshold=pass_threshold(env),
        sampling_args=dict(env.sampling_args),
        tools=[Cleaner().clean(tool.model_dump()) for tool in env.tool_defs or []] or None,
        is_scored=bool(env.score_rollouts),
        scores_in_groups=bool(env.score_rollouts and env.rubric.scores_in_groups),
        single_turn=single_turn_names(env),
        replayable=bool(env.replayable),
        metrics=metric_names(env),
        has_more_metrics=has_more_metrics(env),
        group_functions=group_functions(env),
        unwritten=unwritten_columns(wanted.columns, env),
        faults=scoring_faults(env) if looks else [],
        missing=missing_modules(env) if looks else [],
        code=code_now(env, env_id, folder),
        version=version,
        digest=examples_digest(inputs),
        before=run_before(inputs, wanted, version),
        first_request=_first_request(env, inputs) if wanted.estimates else None,
    )


def _first_request(env: Environment, inputs: Iterable[Mapping[str, Any]]) -> FirstRequest:
    prompts = [row["prompt"] for row in islice(inputs, MEASURED_AT_MOST)]
    tools = _tools(env)
    return FirstRequest(
        first_prompt=Cleaner().clean(to_messages(prompts[0])) if prompts else [],
        characters=sum(map(_characters, prompts)) / len(prompts) if prompts else 0.0,
        tools=[
            Cleaner().clean(tool.model_dump(include={"name", "description", "parameters"}))
            for tool in tools
        ],
        tool_characters=sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools),
        functions=[
            (name, weight)
            for rubric in rubrics_of(env)
            for name, weight in zip(names_of(rubric.funcs), rubric.weights, strict=True)
        ],
    )


def _tools(env: Environment) -> list[Tool]:
    """The tools of an environment, or of all members of a group, each once."""
    members = env.members if isinstance(env, EnvGroup) else []
    found = [*(env.tool_defs or []), *(tool for one in members for tool in _tools(one))]
    return list({tool.model_dump_json(): tool for tool in found}.values())


def _characters(prompt: Any) -> int:
    if isinstance(prompt, str):
        return len(prompt)
    texts = [message.get("content") for message in to_messages(prompt)]
    return sum(
        len(text if isinstance(text, str) else json.dumps(text, default=str)) for text in texts
    )

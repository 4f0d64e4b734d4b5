"""Settings of an environment and its description: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tui_eval.errors import Fault, Notice
from tui_eval.runs.versions import CodeVersion, RunBefore


class Wanted(msgspec.Struct, frozen=True):
    """The optional parts of a description.

    Args:
        columns: Keys of the state that evaluations save with their rows.
        resumes: The directory of the run whose rows its rollouts join; empty for none.
        digest_before: That run's digest of its examples.
        looks: Whether faults that make every rollout fail are looked for.
        estimates: Whether the first requests of a run are measured.
    """

    columns: list[str] = msgspec.field(default_factory=list)
    resumes: str = ""
    digest_before: str = ""
    looks: bool = True
    estimates: bool = False


class EnvironmentSettings(msgspec.Struct, frozen=True):
    """The settings that an environment is loaded with.

    Args:
        folder: The folder of local environments.
        python: The interpreter that it is to run in; empty for that of the program.
        replaced: Settings that replace those of its constructor.
        seed: Of the order of its examples; None for their own.
        only: Ids of the examples that are wanted alone; empty for the first `num_examples`.
        sources: Of the settings, by their names.
        others: Settings of further evaluations of it, by name, whose faults are reported as well.
            Those that they replace are checked where their arguments are the same.
        wanted: The optional parts of its description.
    """

    env_id: str
    folder: str
    env_args: dict[str, Any]
    replaced: dict[str, Any]
    no_alias: bool
    num_examples: int
    seed: int | None
    only: list[str]
    sources: dict[str, str]
    python: str = ""
    others: list[dict[str, Any]] = msgspec.field(default_factory=list)
    wanted: Wanted = msgspec.field(default_factory=Wanted)


def settings_of(values: Mapping[str, Any], wanted: Wanted | None = None) -> EnvironmentSettings:
    """The settings of the environment of an evaluation.

    Args:
        values: By name, as a `RunPlan` has them; with `sources`.
    """
    return EnvironmentSettings(
        env_id=values["env_id"],
        folder=str(values["env_dir_path"]),
        env_args=dict(values["env_args"] or {}),
        replaced=dict(values["extra_env_kwargs"] or {}),
        no_alias=bool(values["no_alias"]),
        num_examples=values["num_examples"],
        seed=values["shuffle_seed"] if values["shuffle"] else None,
        only=list(values["examples"] or ()),
        sources=values["sources"],
        python=values["python"] or "",
        wanted=wanted or Wanted(columns=list(values["state_columns"] or ())),
    )


def of_others(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a further evaluation that are checked: see `others`."""
    return {name: values[name] for name in ("env_args", "extra_env_kwargs", "sources")}


class FirstRequest(msgspec.Struct, frozen=True):
    """The contents of first requests, to estimate what a run will cost.

    Args:
        first_prompt: Messages of the first example.
        characters: Of a prompt, the mean of the first thousand.
        tools: Definitions of all tools, also of the members of a group.
        tool_characters: Of all definitions together.
        functions: Names and weights of the reward functions.
    """

    first_prompt: list[dict[str, Any]]
    characters: float
    tools: list[dict[str, Any]]
    tool_characters: int
    functions: list[tuple[str, float]]


class EnvironmentInfo(msgspec.Struct, frozen=True):
    """The description of an environment with its examples.

    Args:
        env_id: Its name.
        pass_threshold: The reward from which on a rollout counts as passed.
        sampling_args: Parameters that it adds to every model call.
        tools: Definitions of its tools, if it has any.
        is_scored: Whether its rollouts get rewards.
        scores_in_groups: Whether its rubric compares the rollouts of an example.
        single_turn: Of it and its members, the names of those that call the model once.
        replayable: Whether recorded answers take a rollout to where it was.
        metrics: Names of its rubrics' metrics.
        has_more_metrics: A rubric scores in a way of its own, and may have further metrics.
        group_functions: Reward functions that compare rollouts.
        unwritten: Columns that are wanted and that are neither known nor written in its code.
        faults: Of its rubrics, which would fail for every rollout.
        missing: Modules that its reward functions would not find.
        code: The version of its code.
        version: Its own or its package's, where one is said.
        digest: Of its examples.
        before: Differences from a run that is resumed; None for a new one.
        first_request: See `Wanted.estimates`.
    """

    env_id: str
    pass_threshold: float
    sampling_args: dict[str, Any]
    tools: list[dict[str, Any]] | None
    is_scored: bool
    scores_in_groups: bool
    single_turn: list[str]
    replayable: bool
    metrics: list[str]
    has_more_metrics: bool
    group_functions: list[str]
    unwritten: list[str]
    faults: list[Fault]
    missing: list[Notice]
    code: CodeVersion
    version: str | None
    digest: str
    before: RunBefore | None
    first_request: FirstRequest | None

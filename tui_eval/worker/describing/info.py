"""What an environment is loaded with, and what is said of it then: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tui_eval.errors import Fault, Notice
from tui_eval.runs.versions import CodeVersion


class Wanted(msgspec.Struct, frozen=True):
    """What is to be found out of an environment beside what every run needs.

    Args:
        columns: Keys of the state that evaluations save with their rows.
        resumes: The directory of the run whose rows its rollouts join; empty for none.
        digest_before: What that one says of its examples.
        looks: Whether what makes every rollout fail is looked for.
        estimates: Whether what a run would send is measured.
    """

    columns: list[str] = msgspec.field(default_factory=list)
    resumes: str = ""
    digest_before: str = ""
    looks: bool = True
    estimates: bool = False


class EnvironmentSettings(msgspec.Struct, frozen=True):
    """What an environment is loaded with.

    Args:
        folder: Where local environments are.
        python: The interpreter that it is to run in; empty for that of the program.
        replaced: Settings that replace those of its constructor.
        seed: Of the order of its examples; None for their own.
        only: Ids of the examples that are wanted alone; empty for the first `num_examples`.
        sources: Where the settings came from, by their names.
        others: Settings of further evaluations of it, by name, whose faults are reported as well.
            What they replace is looked at where their arguments are the same.
        wanted: What is to be found out of it.
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
    """What an environment is loaded with, by the settings of an evaluation.

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
    """What of the settings of a further evaluation is looked at: see `others`."""
    return {name: values[name] for name in ("env_args", "extra_env_kwargs", "sources")}


class FirstRequest(msgspec.Struct, frozen=True):
    """What the first requests of rollouts have, to estimate what a run will cost.

    Args:
        first_prompt: Messages of the first example.
        characters: Of a prompt, the mean of the first thousand.
        tools: Definitions of all tools, also of the members of a group.
        tool_characters: What those have together.
        functions: Names and weights of the reward functions.
    """

    first_prompt: list[dict[str, Any]]
    characters: float
    tools: list[dict[str, Any]]
    tool_characters: int
    functions: list[tuple[str, float]]


class RunBefore(msgspec.Struct, frozen=True):
    """What the run that is to be resumed differs in from an environment as it is now.

    Args:
        digest: Of as many examples as that run had.
        other_prompts: How many rows have another prompt than the example of their id; empty for
            none.
        version: Of the environment as it is now, where one is said.
    """

    digest: str
    other_prompts: str
    version: str | None = None


class EnvironmentInfo(msgspec.Struct, frozen=True):
    """An environment with its examples, for who has neither.

    Args:
        env_id: Its name.
        pass_threshold: The reward from which on a rollout counts as passed.
        sampling_args: Parameters that it adds to every model call.
        tools: Definitions of its tools, if it has any.
        is_scored: Whether its rollouts get rewards.
        scores_in_groups: Whether its rubric compares the rollouts of an example.
        single_turn: Of it and its members, the names of those that ask the model once.
        replayable: Whether recorded answers take a rollout to where it was.
        metrics: What its rubrics have numbers of.
        has_more_metrics: A rubric scores in a way of its own, and may have others besides.
        group_functions: Reward functions that compare rollouts.
        unwritten: Columns that are wanted and that are neither known nor written in its code.
        faults: What in its rubrics would fail for every rollout.
        missing: Modules that its reward functions would not find.
        code: What its code is.
        version: Its own or its package's, where one is said.
        digest: Of its examples.
        before: How they are to the rows of a run that is resumed; None for a new one.
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

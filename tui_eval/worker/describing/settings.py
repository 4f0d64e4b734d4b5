"""What an environment is loaded with, and what is to be found out of it: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


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

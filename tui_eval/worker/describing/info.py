"""What the process that has loaded an environment says of it: plain data, for the engine."""

from __future__ import annotations

from typing import Any

import msgspec

from tui_eval.errors import Fault, Notice
from tui_eval.runs.versions import CodeVersion


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

"""One rollout and its score, with whatever people's code raises made data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_eval import clock
from tui_eval.call_limits import noted
from tui_eval.errors import InfraError, must_propagate
from tui_eval.events import Stage
from tui_eval.observer import CURRENT
from tui_eval.rubrics.rubric_group import call_rubric, reward_left
from tui_eval.state import State
from tui_eval.types import RolloutInput, SamplingArgs

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient
    from tui_eval.environments.environment import Environment

Propagates: TypeAlias = Callable[[BaseException], bool]
"""Whether an exception of people's code is raised again instead of recorded."""


async def generate(
    env: Environment,
    values: RolloutInput,
    client: AnyClient,
    model: str,
    sampling_args: SamplingArgs,
    propagates: Propagates = must_propagate,
) -> State:
    """Runs a model through one example; the state has an error where the environment raised."""
    begun = clock.now()
    try:
        rollout = env.rollout(values, client, model, sampling_args)
        given: Any = await noted(CURRENT.get(), rollout)
        if isinstance(given, State):
            return given
        error: BaseException = TypeError(f"rollout returned a {type(given).__name__}, no State")
    except BaseException as raised:
        if propagates(raised):
            raise
        error = raised
        if isinstance(raised, asyncio.CancelledError):
            error = InfraError("the environment cancelled its own rollout")
    state = broken_state(values, error, begun)
    state.failed_at = CURRENT.get().stage_of_call
    return state


def broken_state(values: RolloutInput, error: BaseException, begun: float) -> State:
    """The state of a rollout whose environment raised before it gave one back.

    Args:
        begun: When it began, in unix seconds.
    """
    passed = (clock.now() - begun) * 1000
    return State(
        input=values,
        error=error,
        completion=[],
        is_completed=True,
        stop_condition="has_error",
        timing={
            "generation_ms": passed,
            "scoring_ms": 0.0,
            "total_ms": passed,
            "start_time": begun,
        },
    )


async def score(
    env: Environment,
    states: list[State],
    *,
    together: bool,
    propagates: Propagates = must_propagate,
) -> None:
    """Scores the rollouts of one example, unless the environment's scoring is turned off.

    What the rubric raises is the error of every rollout without one, and so is a reward that is no
    number, whoever set it.

    Args:
        together: Score them as a group; otherwise each by itself.
    """
    if env.score_rollouts:
        try:
            await call_rubric(env.rubric, states, not together)
        except BaseException as error:  # a rubric of people's own may raise anything
            if propagates(error):
                raise
            for state in states:
                if state.get("error") is None:
                    state["error"], state.failed_at = error, Stage.SCORING
    whose = type(env.rubric if env.score_rollouts else env).__name__
    for state in states:
        if state.get("reward") is not None:
            state["reward"] = reward_left(state, whose)

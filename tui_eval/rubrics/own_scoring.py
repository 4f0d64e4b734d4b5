"""Rubrics whose authors score in a way of their own, among others that score the same rollouts."""

from __future__ import annotations

import functools
import math

from tui_eval.call_limits import limited
from tui_eval.errors import ScoringError
from tui_eval.observer import CURRENT
from tui_eval.rubrics.calling import short
from tui_eval.rubrics.functions import has_own
from tui_eval.rubrics.rubric import WITHIN, Rubric
from tui_eval.state import State
from tui_eval.stats.rewards import GREATEST, is_number


async def add_scores_of(rubric: Rubric, states: list[State], alone: bool) -> None:
    """Adds what a rubric gives to what states have from others.

    A subclass's own `score_rollout` or `score_group` is called with states whose reward is 0 and
    that have no metrics. What it leaves in `state["reward"]` and `state["metrics"]` is added.

    Args:
        states: Made ready; without an error.
        alone: Whether each is scored by itself.

    Raises:
        Exception: Whatever a subclass's own method raises.
    """
    name = "score_rollout" if alone else "score_group"
    if not has_own(rubric, Rubric, name):
        await rubric.add_scores(states, alone)
        return
    before = [(state.scores, state["reward"], state["metrics"]) for state in states]
    for state in states:
        state.scores, state["reward"], state["metrics"] = [], 0.0, {}
    token = WITHIN.set(True)
    try:
        await call_rubric(rubric, states, alone)
    finally:
        WITHIN.reset(token)
        for state, (scores, reward, metrics) in zip(states, before, strict=True):
            state.scores = [*scores, *state.scores]
            state["reward"] = reward + reward_left(state, type(rubric).__name__)
            state["metrics"] = {**metrics, **(state["metrics"] or {})}


async def call_rubric(rubric: Rubric, states: list[State], alone: bool) -> None:
    """Has a rubric score, within what one call of people's code may take where its way is its own.

    Args:
        alone: Whether each is scored by itself.

    Raises:
        CallTimeoutError: A method of a subclass's own took longer.
        Exception: Whatever it raises.
    """
    name = "score_rollout" if alone else "score_group"
    calls = [functools.partial(rubric.score_group, states)]
    if alone:
        calls = [functools.partial(rubric.score_rollout, state) for state in states]
    for call in calls:
        if has_own(rubric, Rubric, name):
            await limited(CURRENT.get(), f"{type(rubric).__name__}.{name}", "scoring", call)
        else:
            await call()


def reward_left(state: State, whose: str) -> float:
    """The reward that people's code left in a state, 0 for none.

    One that is no number is the rollout's error, unless it has one already, and counts as 0.

    Args:
        whose: The class whose code it is.
    """
    left = state.get("reward")
    try:
        reward = float(left or 0.0)
    except Exception:  # people's own kind of number
        reward = math.nan
    if is_number(reward):
        return reward
    if state.get("error") is None:
        what = f"left a reward that is no number of at most {GREATEST:g}: {short(left)}"
        state["error"] = ScoringError(f"{whose} {what}")
    return 0.0

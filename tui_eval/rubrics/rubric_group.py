"""Several rubrics that score the same rollouts."""

from __future__ import annotations

import functools
import math
from collections.abc import Awaitable, Sequence
from typing import Any

from tui_eval.call_limits import limited
from tui_eval.errors import ScoringError
from tui_eval.observer import CURRENT
from tui_eval.rubrics.functions import has_own
from tui_eval.rubrics.reward_call import short
from tui_eval.rubrics.rubric import WITHIN, Rubric
from tui_eval.state import State
from tui_eval.stats.rewards import GREATEST, is_number
from tui_eval.types import RewardFunc


def add_scores_of(rubric: Rubric, states: list[State], alone: bool) -> Awaitable[None]:
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
        return rubric.add_scores(states, alone)
    return _add_own_scores(rubric, states, alone)


async def _add_own_scores(rubric: Rubric, states: list[State], alone: bool) -> None:
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
    """The reward that people's code, of this class, left in a state; 0 for none.

    One that is no number is the rollout's error, unless it has one already, and counts as 0.
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


class RubricGroup(Rubric):
    """Rubrics whose rewards are summed up, and metrics of the same name added.

    Advantage and timing are those of the whole group.

    Args:
        rubrics: In the order in which they score; at least one.
        kwargs: As for `Rubric`; the parser is that of the first rubric where none is given.
    """

    def __init__(self, rubrics: Sequence[Rubric], **kwargs: Any) -> None:
        if not rubrics:
            raise ValueError("A RubricGroup must have at least one rubric")
        super().__init__(**{"parser": rubrics[0].parser, **kwargs})
        self.rubrics = list(rubrics)

    @property
    def reward_funcs(self) -> list[RewardFunc]:
        """The functions of all members."""
        return self._get_reward_funcs()

    @property
    def reward_weights(self) -> list[float]:
        """The weight of each of these functions."""
        return self._get_reward_weights()

    def _get_reward_func_names(self) -> list[str]:
        return [name for one in self.rubrics for name in one.get_reward_func_names()]

    def _get_reward_funcs(self) -> list[RewardFunc]:
        return [func for one in self.rubrics for func in one.get_reward_funcs()]

    def _get_reward_weights(self) -> list[float]:
        return [weight for one in self.rubrics for weight in one.get_reward_weights()]

    def add_reward_func(
        self, func: RewardFunc, weight: float = 1.0, timeout_seconds: float | None = None
    ) -> None:
        """Adds a function to the first rubric."""
        assert self.rubrics, "A RubricGroup must have at least one rubric"
        self.logger.warning("A function added to a RubricGroup goes to its first rubric")
        limit = {} if timeout_seconds is None else {"timeout_seconds": timeout_seconds}
        self.rubrics[0].add_reward_func(func, weight, **limit)

    def add_class_object(self, name: str, obj: Any) -> None:
        """Gives functions of the first rubric an object under a parameter's name."""
        self.logger.warning("An object added to a RubricGroup goes to its first rubric")
        self.rubrics[0].add_class_object(name, obj)

    @property
    def has_group_funcs(self) -> bool:
        """Whether any of the rubrics needs all rollouts of an example together."""
        return super().has_group_funcs or any(one.has_group_funcs for one in self.rubrics)

    @property
    def scores_in_groups(self) -> bool:
        """Whether any of the rubrics scores rollouts together unless each is requested alone."""
        return super().scores_in_groups or any(one.scores_in_groups for one in self.rubrics)

    async def add_scores(self, states: list[State], alone: bool) -> None:
        """Runs every rubric on states that were made ready, and adds to what they have."""
        sums: list[dict[str, float]] = [{} for _ in states]
        rewards: list[float] = [state["reward"] for state in states]
        for rubric in self.rubrics:
            for state in states:
                state["reward"] = 0.0
            await add_scores_of(rubric, states, alone)
            for place, (state, total) in enumerate(zip(states, sums, strict=True)):
                rewards[place] += state["reward"]
                for name, value in state["metrics"].items():
                    total[name] = _plus(total.get(name, 0.0), value)
                state["metrics"] = {}
        for state, reward, total in zip(states, rewards, sums, strict=True):
            state["reward"], state["metrics"] = reward, total


def _plus(one: float, other: Any) -> float:
    """The sum of two metrics; NaN where people's code left one that is no number."""
    try:
        return one + float(other)
    except (TypeError, ValueError, OverflowError):
        return math.nan

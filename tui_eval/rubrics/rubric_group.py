"""Several rubrics that score the same rollouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tui_eval.rubrics.own_scoring import add_scores_of
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State
from tui_eval.types import RewardFunc


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
        """What each of these functions counts."""
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

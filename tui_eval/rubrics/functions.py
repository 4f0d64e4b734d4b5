"""The functions of a rubric by name, weight and kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tui_eval.rubrics.reward_call import name_of, read_signature
from tui_eval.types import RewardFunc


class HasFunctions:
    """Names and weights of a rubric's functions, and which of them score a whole group.

    Each question also has the name with an underscore that subclasses of `verifiers` override and
    call.

    Attributes:
        funcs: In the order in which they run.
        weights: The weight of each; a function without a weight is not called.
    """

    funcs: list[RewardFunc]
    weights: list[float]

    def get_reward_func_names(self) -> list[str]:
        """The names of all functions."""
        return self._get_reward_func_names()

    def get_reward_funcs(self) -> list[RewardFunc]:
        """All functions."""
        return self._get_reward_funcs()

    def get_reward_weights(self) -> list[float]:
        """The weight of each function."""
        return self._get_reward_weights()

    @property
    def reward_funcs(self) -> list[RewardFunc]:
        """`funcs`, by the name that it had in older environments."""
        return self.funcs

    @property
    def reward_weights(self) -> list[float]:
        """`weights`, by the name that it had in older environments."""
        return self.weights

    def _get_reward_func_names(self) -> list[str]:
        return [name_of(func) for func in self.funcs]

    def _get_reward_funcs(self) -> list[RewardFunc]:
        return list(self.funcs)

    def _get_reward_weights(self) -> list[float]:
        return self.weights

    def _is_group_func(self, func: RewardFunc) -> bool:
        return read_signature(func).is_group

    def _of_kind(self, is_group: bool) -> Iterator[tuple[RewardFunc, float]]:
        for func, weight in zip(self.funcs, self.weights, strict=False):
            if self._is_group_func(func) is is_group:
                yield func, weight

    def _get_individual_reward_func_names(self) -> list[str]:
        return [name_of(func) for func, _ in self._of_kind(False)]

    def _get_individual_reward_funcs(self) -> list[RewardFunc]:
        return [func for func, _ in self._of_kind(False)]

    def _get_individual_reward_weights(self) -> list[float]:
        return [weight for _, weight in self._of_kind(False)]

    def _get_group_reward_func_names(self) -> list[str]:
        return [name_of(func) for func, _ in self._of_kind(True)]

    def _get_group_reward_funcs(self) -> list[RewardFunc]:
        return [func for func, _ in self._of_kind(True)]

    def _get_group_reward_weights(self) -> list[float]:
        return [weight for _, weight in self._of_kind(True)]


def has_own(rubric: Any, base: type, name: str) -> bool:
    """Whether a rubric, or its class, has a method of its own in place of that of `base`."""
    return getattr(getattr(rubric, name), "__func__", None) is not getattr(base, name)

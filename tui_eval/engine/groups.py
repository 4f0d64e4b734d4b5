"""Rollouts of one example wait for each other where a reward function compares them."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from tui_eval.engine.watch import RolloutWatch
from tui_eval.state import State

Member: TypeAlias = tuple[RolloutWatch | None, State]
"""A generated rollout; without a watch it was scored and saved in an earlier session."""


class Groups:
    """Gathers the members of every group until all are there."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._members: defaultdict[int, list[Member]] = defaultdict(list)

    def add_saved(self, row: int, state: State) -> None:
        """A member whose row is already on disk: it is compared with, not scored again."""
        self._members[row // self._size].append((None, state))

    def add(self, watch: RolloutWatch, state: State) -> list[Member] | None:
        """Takes in a member; returns the whole group once it is complete, None before."""
        example = watch.row // self._size
        members = self._members[example]
        members.append((watch, state))
        if len(members) < self._size:
            return None
        return self._members.pop(example)

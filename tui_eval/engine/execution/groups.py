"""Rollouts of one example wait for each other where a reward function compares them."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from tui_eval.engine.execution.rollout_observer import RolloutObserver
from tui_eval.engine.setup.examples import Examples
from tui_eval.state import State

Member: TypeAlias = tuple[RolloutObserver | None, State]
"""A generated rollout; without a watch its row was written in an earlier session."""


class Groups:
    """Gathers the members of every group until all are there."""

    def __init__(self, examples: Examples) -> None:
        self._examples = examples
        self._members: defaultdict[int, dict[int, Member]] = defaultdict(dict)

    def add_saved(self, row: int, state: State) -> None:
        """A member whose row is already on disk: it is scored only to be compared with."""
        self._members[self._examples.example(row)][row] = (None, state)

    def __contains__(self, example: int) -> bool:
        """Whether the group of an example waits for members; one that is complete does not."""
        return example in self._members

    def waiting(self, row: int) -> State | None:
        """The state of a member of this session that waits for the others."""
        watch, state = self._members.get(self._examples.example(row), {}).get(row, (None, None))
        return state if watch is not None else None

    def forget(self, row: int) -> None:
        """A member that is to run again: its group waits for it."""
        example = self._examples.example(row)
        if example in self._members:
            self._members[example].pop(row, None)

    def add(self, watch: RolloutObserver, state: State) -> list[Member] | None:
        """Takes in a member.

        Returns:
            The whole group in the order of its rollouts once it is complete, None before.
        """
        example = self._examples.example(watch.row)
        members = self._members[example]
        members[watch.row] = (watch, state)
        if len(members) < self._examples.size(example):
            return None
        del self._members[example]
        return [members[row] for row in sorted(members)]

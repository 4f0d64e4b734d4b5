"""Groups: rollouts of one example that wait for each other, as a reward function compares them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tui_eval.observer import CURRENT
from tui_eval.state import State
from tui_eval.worker.examples import Examples
from tui_eval.worker.restored_states import saved_member
from tui_eval.worker.rollout_observer import RolloutObserver

log = logging.getLogger("tui_eval.rollout")

Member: TypeAlias = tuple[RolloutObserver | None, State]
"""A generated rollout; without an observer its row was written in an earlier session."""


class Groups:
    """Gathers the members of every group until all are there.

    Args:
        columns: Keys of the state that are saved with each row.
    """

    def __init__(self, examples: Examples, columns: Sequence[str]) -> None:
        self._examples = examples
        self._columns = columns
        self._members: defaultdict[int, dict[int, Member]] = defaultdict(dict)
        self.moved: Callable[[int, bool], None] = lambda example, waits: None
        """Called where a group begins or ends to wait for members."""

    def add_saved(self, row: int, values: Mapping[str, Any]) -> list[Member] | None:
        """Adds a member whose row is on disk: it is scored only to be compared with."""
        state = saved_member(self._examples.fresh_state(row), values, self._columns)
        return self._add(row, (None, state))

    def __contains__(self, example: int) -> bool:
        """Whether the group of an example waits for members."""
        return example in self._members

    def waiting(self, row: int) -> State | None:
        """The state of a member of this session that waits for the others."""
        observer, state = self._members.get(self._examples.example(row), {}).get(row, (None, None))
        return state if observer is not None else None

    def forget(self, row: int) -> None:
        """Removes a member that is to run again, so that its group waits for it."""
        example = self._examples.example(row)
        if example in self._members:
            self._members[example].pop(row, None)

    def add(self, observer: RolloutObserver, state: State) -> list[Member] | None:
        """Adds a member.

        Returns:
            The whole group in the order of its rollouts once it is complete, None before.
        """
        found = self._add(observer.row, (observer, state))
        if found is None:
            self.moved(self._examples.example(observer.row), True)
        return found

    def _add(self, row: int, member: Member) -> list[Member] | None:
        example = self._examples.example(row)
        members = self._members[example]
        members[row] = member
        waits = any(observer is not None for observer, _ in members.values())
        if len(members) < self._examples.size(example) or not waits:
            return None
        del self._members[example]
        self.moved(example, False)
        return [members[row] for row in sorted(members)]


def leading(observer: RolloutObserver, fresh: Sequence[RolloutObserver]) -> RolloutObserver:
    """The member that a group is scored for: the last one, if it is to have a score.

    One that has errored is not tried again or kept, for it has its row; its slots pass on.
    """
    leader = observer if observer in fresh else fresh[0]
    leader.held = observer.held
    CURRENT.set(leader)
    return leader


def log_lost(observer: RolloutObserver, members: Sequence[Member]) -> None:
    """Logs how many of earlier sessions could not be scored again with the others."""
    lost = sum(w is None and s.get("error") is not None for w, s in members)
    if lost:
        log.warning(
            "%s: %d rollouts of earlier sessions could not be scored again, and its group was "
            "compared without them",
            *(observer, lost),
        )

"""Which rollouts are read beside each other, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tui_eval.fold.comparison import Change
from tui_eval.fold.rollout_columns import DONE

if TYPE_CHECKING:
    from tui_eval.fold.comparison import PairedExample
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout


class Source(msgspec.Struct, frozen=True):
    """Where the rollouts of one side come from.

    Args:
        name: What the run is called.
        read: Reads a finished rollout by its row, in a thread; None where it cannot be read.
    """

    letter: str
    name: str
    state: RunState
    read: Callable[[int], Rollout | None]


class Pair(msgspec.Struct, frozen=True):
    """Two rollouts to read, and others of their example that can stand in their place.

    Args:
        example_ids: Of both; one where they are of the same example.
        rows: The finished rollouts of the example, for each side.
        at: Which of them is shown at first.
    """

    example_ids: tuple[Any, ...]
    rows: tuple[Sequence[int], Sequence[int]]
    at: tuple[int, int] = (0, 0)
    change: Change | None = None

    @classmethod
    def of(cls, example: PairedExample, first: RunState, second: RunState) -> Pair:
        """The rollouts that show best what became of an example."""
        ours, theirs = _done(first, example.first_rows), _done(second, example.second_rows)
        change, more = example.change, example.difference
        if change is Change.FIXED or (change is not Change.BROKEN and more > 0):
            least = (True, False)
        elif change is Change.BROKEN or more < 0:
            least = (False, True)
        else:
            least = (change is Change.BOTH_WRONG,) * 2
        at = (_extreme(first, ours, least[0]), _extreme(second, theirs, least[1]))
        return cls((example.example_id,), (ours, theirs), at, change)

    @classmethod
    def of_rows(cls, state: RunState, a: int, b: int) -> Pair:
        """Two rollouts of one run."""
        (ours, at), (theirs, there) = _group(state, a), _group(state, b)
        ids = dict.fromkeys(map(state.example_id, (a, b)))
        return cls(tuple(ids), (ours, theirs), (at, there))


def _done(state: RunState, rows: Sequence[int]) -> list[int]:
    return [row for row in rows if state.stage[row] == DONE]


def _extreme(state: RunState, rows: Sequence[int], least: bool) -> int:
    """The place of the row with the least or the greatest reward, the first of several.

    One without a reward is neither where there is another.
    """
    rewards = [state.reward[row] for row in rows]
    keys = [(math.isnan(reward), reward if least else -reward) for reward in rewards]
    return min(range(len(keys)), key=keys.__getitem__, default=0)


def _group(state: RunState, row: int) -> tuple[list[int], int]:
    """The finished rollouts of a row's example, itself among them, and its place there."""
    start = row // state.per_example * state.per_example
    end = min(start + state.per_example, state.total)
    rows = [one for one in range(start, end) if one == row or state.stage[one] >= DONE]
    return rows, rows.index(row)

"""The first pair of rollouts of a compared example."""

from __future__ import annotations

import math

import pytest
from run_events import finished, started

from tui_eval.fold.compare.comparison import Change, PairedExample
from tui_eval.fold.run_state import RunState
from tui_eval.tui.compare.pairs import Pair

ROWS = (0, 1)


def rewarded(*rewards: float) -> RunState:
    state = RunState()
    state.apply(started(1, len(rewards)))
    for row, reward in enumerate(rewards):
        state.apply(finished(row, reward, per_example=len(rewards)))
    return state


@pytest.mark.parametrize(
    ("first", "second", "change", "at"),
    [
        ((0.2, 1.2), (1.2, 1.3), Change.BOTH_RIGHT, (0, 1)),
        ((1.3, 1.2), (0.2, 1.2), Change.BOTH_RIGHT, (0, 0)),
        ((0.1, 0.3), (0.4, 0.1), Change.BOTH_WRONG, (0, 0)),
        ((0.1, 0.2), (0.2, 0.1), Change.BOTH_WRONG, (0, 1)),
        ((1.0, 0.6), (0.6, 1.0), Change.BOTH_RIGHT, (0, 1)),
        ((0.6, 0.0), (1.0, 1.1), Change.FIXED, (1, 1)),
        ((1.0, 1.1), (0.6, 0.0), Change.BROKEN, (1, 1)),
        ((math.nan, 0.6), (math.inf, 1.1), Change.BOTH_RIGHT, (1, 1)),
    ],
)
def test_the_two_are_read_that_show_the_difference(
    first: tuple[float, ...],
    second: tuple[float, ...],
    change: Change,
    at: tuple[int, int],
) -> None:
    means = (sum(first) / len(first), sum(second) / len(second))
    example = PairedExample(0, *means, change, ROWS, ROWS)
    assert Pair.of(example, rewarded(*first), rewarded(*second)).at == at

"""A reward that rounding left below a threshold passes everywhere."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from run_events import finished, started

from tui_eval.cli.agent.agent_results import pass_rates
from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.comparison import Change, compare_runs
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.run_state import RunState
from tui_eval.text.figures import judged_text

PLACES = 10**4


@st.composite
def sums_of_one(draw: st.DrawFn) -> float:
    """A float sum of decimal weights that are exactly 1 in decimal, in any order."""
    cuts = draw(st.lists(st.integers(1, PLACES - 1), min_size=1, max_size=8, unique=True))
    parts = [b - a for a, b in itertools.pairwise([0, *sorted(cuts), PLACES])]
    return sum(part / PLACES for part in draw(st.permutations(parts)))


@given(sums_of_one(), sums_of_one())
def test_weights_that_are_one_in_decimal_pass_one_everywhere(one: float, other: float) -> None:
    state = RunState()
    state.apply(started(6, 2, pass_threshold=1.0))
    for row in range(12):
        state.apply(finished(row, one if row % 2 else other))
    figures = state.examples.result(0)
    assert (figures.passed, figures.all_equal, state.examples.equal) == (2, True, 6)
    assert [(rate.any_passes, rate.all_pass) for rate in state.pass_rates.result(6)] == [(1, 1)] * 2
    for text, rows in {
        "reward>=1": 12, "reward=1": 12, "reward<=1": 12, "reward<1": 0, "reward>1": 0,
        "reward!=1": 0, "metrics.score:1": 12,
    }.items():  # fmt: skip
        assert len(RowFilter(text, ["score"]).rows(state)) == rows, text
    side = Side(state, {place: bytes([place]) for place in range(6)})
    (found,) = compare_runs([side, side])
    assert found.changes == {Change.BOTH_RIGHT: 6}
    assert judged_text(one, 1.0) == "1.00"
    assert pass_rates([[one, other]], 1.0, 2) == {1: 1.0, 2: 1.0}


def test_rewards_that_differ_are_distinguished() -> None:
    state = RunState()
    state.apply(started(1, 2, pass_threshold=1.0))
    state.apply(finished(0, 0.999_999))
    state.apply(finished(1, 1.0))
    figures = state.examples.result(0)
    assert (figures.passed, figures.all_equal) == (1, False)
    assert RowFilter("reward<1").rows(state).tolist() == [0]

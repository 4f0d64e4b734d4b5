"""Tokens of each kind in the fold: counted once, also where rollouts run again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_events import finished, staged, started

from tui_eval.events import RowsTakenBack, Stage
from tui_eval.fold.run_state import RunState
from tui_eval.fold.usage import projected_cost
from tui_eval.token_kinds import named, plus

COUNT = st.integers(0, 1000)
KINDS = st.one_of(st.just(()), st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT))


def folded(*events: Any) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


@given(st.lists(st.tuples(KINDS, KINDS, st.booleans()), min_size=1, max_size=6))
def test_kinds_stay_counted_whatever_becomes_of_a_rollout(rollouts: Any) -> None:
    state = folded(started(6, 1))
    expected: tuple[int, ...] = ()
    for row, (kinds, lost, again) in enumerate(rollouts):
        used = {"input_tokens": 9, "lost_input": 9, "kinds": kinds, "lost_kinds": lost}
        state.apply(staged(row, Stage.MODEL, **used))
        expected = plus(expected, plus(kinds, lost))
        assert named(state.usage.kinds) == named(expected), "while it runs"
        errored = {"error": "ModelError", "reward": None} if again else {}
        event = finished(row, per_example=1, **used, **errored)
        state.apply(event)
        assert named(state.usage.kinds) == named(expected), "once it has finished"
        if again:
            state.apply(RowsTakenBack(0, 0.0, [event]))
            assert named(state.usage.kinds) == named(expected), "they were spent"
    assert not state.usage.row_kinds, "those of finished rollouts are not kept one by one"


def test_the_cost_counts_kinds_at_their_price_also_of_the_whole_that_is_projected() -> None:
    prices = {"input_price": 10.0, "output_price": 100.0, "cached_input_price": 1.0}
    state = folded(started(2, 1, **prices))
    used = {"input_tokens": 1_000_000, "output_tokens": 0, "kinds": (900_000, 0, 0, 0, 0)}
    state.apply(finished(0, per_example=1, **used))
    assert state.cost == pytest.approx(1.0 + 0.9)
    assert projected_cost(state) == pytest.approx(2 * 1.9)

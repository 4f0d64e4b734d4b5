"""How fast a run is, and how many requests its endpoints were sent at a time."""

from __future__ import annotations

import pytest
from folded_states import folded
from run_events import finished, staged, started

from tui_eval.events import (
    ConcurrencyMoved,
    EngineSampled,
    GateMoved,
    Hello,
    MaxConcurrentChanged,
    MessagesAdded,
    ReadAgain,
    RunFinished,
    Stage,
)


def test_how_much_the_endpoints_get_at_once_is_reported_over_all_of_them() -> None:
    state = folded(started(max_concurrent=64, refused=0))
    assert (state.concurrency_limits, state.refused_requests) == ((0, 0), 0)
    state.apply(ConcurrencyMoved(0, 1.0, 0, 24, 64, 30))
    assert (state.concurrency_limits, state.refused_requests) == ((24, 64), 30)
    state.apply(ConcurrencyMoved(0, 2.0, 1, 64, 64, 1))
    state.apply(ConcurrencyMoved(0, 3.0, 1, 20, 64, 5))
    assert (state.concurrency_limits, state.refused_requests) == ((44, 64), 35)
    assert list(state.limits) == [(24, 64), (64, 64), (44, 64)]
    state.apply(ConcurrencyMoved(0, 4.0, 1, 20, 64, 6))
    assert len(state.limits) == 3, "it did not move"


def test_how_much_the_endpoints_got_is_known_of_earlier_sessions_too() -> None:
    start = started(max_concurrent=64, refused=7, limits=[(64, 64), (24, 64)])
    state, over = folded(start), folded(start, RunFinished(0, 2.0, "interrupted", 130))
    assert (state.concurrency_limits, over.concurrency_limits) == ((0, 0), (24, 64)), (
        "none is refused in this session"
    )
    for event in (ConcurrencyMoved(0, 2.0, 0, 40, 64, 3), start):
        state.apply(event)
    assert state.concurrency_limits == (40, 64)
    assert list(state.limits) == [(64, 64), (24, 64), (40, 64)]


def test_refused_requests_are_those_of_all_sessions_and_unknown_where_nobody_counted() -> None:
    unreported, earlier = folded(started()), folded(started(refused=7))
    assert (unreported.refused_requests, earlier.refused_requests) == (None, 7)
    for state in (unreported, earlier):
        state.apply(ConcurrencyMoved(0, 1.0, 0, 24, 64, 3))
    assert (unreported.refused_requests, earlier.refused_requests) == (3, 10)


def test_without_a_limit_only_what_an_endpoint_lets_through_is_known() -> None:
    state = folded(started(max_concurrent=0), ConcurrencyMoved(0, 1.0, 0, 24, 0, 30))
    assert state.concurrency_limits == (24, 0)


def test_events_of_a_connection_of_the_engine_itself_and_of_one_text_change_nothing() -> None:
    state = folded(started())
    before = state.changed
    sampled = EngineSampled(0, 1.0, 2.0, 3.0, 4.0, 5)
    added = MessagesAdded(1, 1.0, 0, 1, 0, 0, [])
    for event in (Hello(1, 1, "/x", 1), ReadAgain(1), sampled, added):
        state.apply(event)
    assert state.changed == before
    state.apply(finished(0))
    assert state.changed == before + 1


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    state = folded(started(50, 2))
    assert state.rate.per_second(1000.0) == 0.0
    for row in range(60):
        state.apply(finished(row, at=1000.0 + row))
    assert state.rate.per_second(1060.0) == pytest.approx(1.0, abs=0.1)
    assert state.rate.per_second(1200.0) == 0.0


def test_the_rate_counts_from_when_the_work_of_the_session_began() -> None:
    state = folded(started(7, 2, at=1000.0), staged(9, Stage.SETUP, at=1002.0))
    for row in range(3):
        state.apply(finished(row, at=1022.0, started_at=1003.0))
    assert state.rate.per_second(1022.0) == pytest.approx(3 / 20)
    state.apply(started(7, 2, at=1030.0))
    assert state.rate.per_second(1031.0) == 0.0
    state.apply(finished(3, at=1035.0, started_at=1010.0))
    assert state.rate.per_second(1035.0) == pytest.approx(1 / 5), "it was begun in the last session"


def test_a_pause_shows_nothing_of_the_speed() -> None:
    state = folded(started(50, 2), *[finished(row, at=1000.0 + row / 10) for row in range(20)])
    state.apply(GateMoved(0, 1002.0, False, 0))
    state.apply(GateMoved(0, 1025.0, True, 0))
    assert state.rate.per_second(1025.0) == 0.0
    for row in range(20, 40):
        state.apply(finished(row, at=1025.0 + row / 10))
    assert state.rate.per_second(1029.0) == pytest.approx(20 / 4)


def test_rows_of_an_earlier_session_show_nothing_of_the_present_speed() -> None:
    state = folded(started(50, 2, at=5000.0), *[finished(row, at=1000.0) for row in range(40)])
    assert state.rate.per_second(5001.0) == 0.0
    for row in range(40, 50):
        state.apply(finished(row, at=5001.0))
    assert state.rate.per_second(5002.0) > 4


def test_the_rate_counts_from_when_this_session_began_a_rollout() -> None:
    state = folded(started(50, 2, at=5000.0), finished(0, at=1000.0, started_at=990.0))
    for row in range(1, 11):
        state.apply(finished(row, at=5021.0, started_at=5020.0))
    assert state.rate.per_second(5022.0) == pytest.approx(10 / 2)


def test_an_endpoint_that_is_to_get_less_than_the_run_has_its_own_limit() -> None:
    state = folded(started(max_concurrent=64), ConcurrencyMoved(0, 1.0, 0, 4, 8, 1))
    assert state.concurrency_limits == (4, 8)


def test_the_limit_is_what_it_was_moved_to_last() -> None:
    first = started(max_concurrent=16)
    state = folded(first, MaxConcurrentChanged(0, 5.0, 24, 16))
    assert state.run is not None and state.run.max_concurrent == 24
    assert state.max_concurrent_changed is not None and state.max_concurrent_changed.before == 16
    assert first.max_concurrent == 16

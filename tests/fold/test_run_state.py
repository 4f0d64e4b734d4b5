"""What listeners read of a run, whatever the order in which its events come."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_events import finished, staged, started

from tui_eval.events import (
    ConcurrencyMoved,
    EngineSampled,
    Event,
    GateMoved,
    Hello,
    LimitMoved,
    LineUnreadable,
    MessagesAdded,
    Noticed,
    ReadAgain,
    ReadingMoved,
    Refused,
    RolloutFinished,
    RowsTakenBack,
    RunFinished,
    Stage,
)
from tui_eval.fold.columns import Columns
from tui_eval.fold.projection import projected_cost, projected_tokens
from tui_eval.fold.run_state import RunState


def folded(*events: Event) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def figures(state: RunState) -> dict[str, Any]:
    """Everything that a run's listeners show and that does not depend on the order."""
    reward = state.reward_mean.result()
    return {
        "by_stage": state.by_stage,
        "counts": (state.finished, state.errored, state.running, state.waiting),
        "tokens": (state.usage.tokens_in, state.usage.tokens_out),
        "usage": (state.usage.with_usage, state.usage.used_in, state.usage.used_out),
        "columns": [list(column) for column in (state.stage, state.turns, state.offset)],
        "rewards": [None if math.isnan(value) else value for value in state.reward],
        "mean": (reward.n, pytest.approx(reward.mean), pytest.approx(reward.se, abs=1e-9)),
        "metrics": {
            name: (metric.n, pytest.approx(metric.result().mean))
            for name, metric in state.metrics.items()
        },
        "errors": (state.errors, dict(state.outcomes.errors), dict(state.outcomes.stops)),
        "passes": [
            (rate.k, pytest.approx(rate.any_passes), pytest.approx(rate.all_pass), rate.examples)
            for rate in state.pass_rates.result(3)
        ],
        "truncated": state.outcomes.truncated,
        "ids": state.example_ids,
        "seconds": (state.rollout_s.result(), state.model_call_s.result()),
        "tools": (state.outcomes.tools, state.outcomes.failed_tools),
        "ends": (state.outcomes.finishes, state.outcomes.classes, state.outcomes.models),
        "examples": [
            (one.n, one.errored, one.passed, one.all_equal, pytest.approx(one.mean))
            for one in map(state.examples.result, range(3))
        ],
        "equal": (state.examples.equal, state.examples.with_several, state.examples.complete),
    }


def test_a_new_run_waits_with_all_its_rollouts() -> None:
    state = folded(started(3, 2))
    assert (state.total, state.waiting, state.running, state.finished) == (6, 6, 0, 0)
    assert state.reward_mean.result().mean is None
    assert state.example_id(5) == 2


def test_stages_move_a_rollout_through_the_counts() -> None:
    state = folded(started(), staged(0, Stage.SETUP), staged(1, Stage.MODEL))
    assert (state.waiting, state.running, state.by_stage[Stage.MODEL]) == (4, 2, 1)
    state.apply(staged(1, Stage.TOOL, turns=1, tool_calls=2, input_tokens=7, output_tokens=3))
    assert (state.by_stage[Stage.MODEL], state.by_stage[Stage.TOOL]) == (0, 1)
    assert (state.turns[1], state.tool_calls[1]) == (1, 2)
    assert (state.usage.tokens_in, state.usage.tokens_out) == (7, 3)
    state.apply(finished(1))
    assert (state.running, state.finished) == (1, 1)
    assert (state.usage.tokens_in, state.usage.tokens_out) == (10, 5)


def test_a_finished_rollout_told_twice_counts_once() -> None:
    once = folded(started(), finished(0, 0.5), finished(3, None))
    twice = folded(started(), *[finished(0, 0.5), finished(3, None)] * 2)
    assert figures(once) == figures(twice)


def test_a_late_stage_does_not_bring_a_finished_rollout_back() -> None:
    state = folded(started(), finished(0), staged(0, Stage.MODEL, input_tokens=999))
    assert (state.finished, state.running, state.usage.tokens_in) == (1, 0, 10)


def test_an_errored_rollout_has_no_reward_and_no_part_in_means() -> None:
    state = folded(
        started(2, 2),
        finished(0, 1.0),
        finished(1, None, error="ModelError -> BadRequestError", metrics={"score": 0.0}),
        finished(2, 1.0),
        finished(3, 0.0),
    )
    assert math.isnan(state.reward[1])
    assert state.reward_mean.result().mean == pytest.approx(2 / 3)
    assert (state.reward_mean.n, state.errored, state.finished) == (3, 1, 4)
    assert state.metrics["score"].n == 3
    assert state.outcomes.errors == {"ModelError -> BadRequestError": 1}
    rates = state.pass_rates.result(2)
    assert [(rate.k, rate.examples, rate.left_out) for rate in rates] == [(1, 2, 0), (2, 1, 1)]


def test_a_second_attempt_starts_its_clock_and_its_tokens_anew() -> None:
    state = folded(
        started(),
        staged(0, Stage.MODEL, at=1001.0, input_tokens=50),
        staged(0, Stage.SLEEPING, at=1002.0, input_tokens=50),
        staged(0, Stage.SETUP, at=1010.0, attempt=2),
    )
    assert (state.since[0], state.attempt[0], state.usage.tokens_in) == (1010.0, 2, 0)


def test_a_pause_is_no_part_of_the_time_of_a_running_rollout() -> None:
    state, passed = folded(started()), []
    for at, stage in ((1.0, Stage.MODEL), (3.0, Stage.HELD), (5.0, Stage.HELD), (9.0, Stage.MODEL)):
        state.apply(staged(0, stage, at=at))
        passed.append(state.passed_s(0, at + 1.0))
    assert passed == [1.0, 2.0, 2.0, 3.0]
    assert math.isnan(state.passed_s(1, 9.0))


def test_a_pause_is_no_part_of_the_time_of_a_rollout_that_waits_for_a_slot_again() -> None:
    state = folded(
        started(),
        staged(0, Stage.SLEEPING, at=1.0, note="status 429, again in 3s", again_at=4.0),
        staged(1, Stage.SLEEPING, at=1.0, note="status 429, waits for a slot"),
        GateMoved(0, 3.0, False, 1),
        staged(0, Stage.SLEEPING, at=4.0, note="status 429, waits for a slot"),
        GateMoved(0, 5.0, False, 0),
    )
    assert [state.passed_s(row, 8.0) for row in (0, 1)] == [3.0, 2.0]
    state.apply(GateMoved(0, 9.0, True, 0))
    state.apply(staged(1, Stage.MODEL, at=10.0))
    assert [state.passed_s(row, 12.0) for row in (0, 1)] == [6.0, 5.0]


def test_an_endpoint_that_tells_negative_tokens_breaks_nothing() -> None:
    state = RunState()
    state.apply(started())
    state.apply(staged(0, Stage.MODEL, input_tokens=-1, output_tokens=3))
    assert (state.usage.tokens_in, state.usage.tokens_out) == (-1, 3)


def test_the_threshold_of_the_run_decides_what_passes() -> None:
    state = folded(started(1, 2, pass_threshold=0.9), finished(0, 0.8), finished(1, 0.95))
    assert state.pass_rates.result(1)[0].any_passes == 0.5


def test_the_example_id_is_the_datasets_own_once_a_rollout_finished() -> None:
    state = folded(started(), finished(2, example_id="q-17"))
    assert [state.example_id(row) for row in (0, 2, 3)] == [0, "q-17", "q-17"]


def test_a_run_told_again_keeps_what_is_known() -> None:
    state = folded(started(), finished(0), started(saved=False))
    assert state.finished == 1
    assert state.run is not None and not state.run.saved


def test_what_happens_around_the_rollouts_is_kept() -> None:
    state = folded(
        started(),
        GateMoved(0, 1.0, False, 3),
        Noticed(0, 1.0, "warning", "a line is torn"),
        Refused(0, [("-n", "too small", "")]),
        RunFinished(0, 2.0, "interrupted", 130),
    )
    assert (state.gate_open, state.in_flight) == (False, 3)
    assert state.notices == [("warning", "a line is torn")]
    assert state.refused == [("-n", "too small", "")]
    assert state.end is not None and state.end.exit_code == 130


def test_how_much_the_endpoints_get_at_a_time_is_told_over_all_of_them() -> None:
    state = folded(started(max_concurrent=64, refused=0))
    assert (state.at_a_time, state.refused_requests) == ((0, 0), 0)
    state.apply(ConcurrencyMoved(0, 1.0, 0, 24, 64, 30))
    assert (state.at_a_time, state.refused_requests) == ((24, 64), 30)
    state.apply(ConcurrencyMoved(0, 2.0, 1, 64, 64, 1))
    state.apply(ConcurrencyMoved(0, 3.0, 1, 20, 64, 5))
    assert (state.at_a_time, state.refused_requests) == ((44, 64), 35)
    assert list(state.limits) == [(24, 64), (64, 64), (44, 64)]
    state.apply(ConcurrencyMoved(0, 4.0, 1, 20, 64, 6))
    assert len(state.limits) == 3, "it did not move"


def test_how_much_the_endpoints_got_is_known_of_earlier_sessions_too() -> None:
    start = started(max_concurrent=64, refused=7, limits=[(64, 64), (24, 64)])
    state, over = folded(start), folded(start, RunFinished(0, 2.0, "interrupted", 130))
    assert (state.at_a_time, over.at_a_time) == ((0, 0), (24, 64)), (
        "none is refused in this session"
    )
    for event in (ConcurrencyMoved(0, 2.0, 0, 40, 64, 3), start):
        state.apply(event)
    assert state.at_a_time == (40, 64)
    assert list(state.limits) == [(64, 64), (24, 64), (40, 64)]


def test_refused_requests_are_those_of_all_sessions_and_unknown_where_nobody_counted() -> None:
    nobody_told, earlier = folded(started()), folded(started(refused=7))
    assert (nobody_told.refused_requests, earlier.refused_requests) == (None, 7)
    for state in (nobody_told, earlier):
        state.apply(ConcurrencyMoved(0, 1.0, 0, 24, 64, 3))
    assert (nobody_told.refused_requests, earlier.refused_requests) == (3, 10)


def test_without_a_limit_only_what_an_endpoint_lets_through_is_known() -> None:
    state = folded(started(max_concurrent=0), ConcurrencyMoved(0, 1.0, 0, 24, 0, 30))
    assert state.at_a_time == (24, 0)


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


def test_a_pause_tells_nothing_of_the_speed() -> None:
    state = folded(started(50, 2), *[finished(row, at=1000.0 + row / 10) for row in range(20)])
    state.apply(GateMoved(0, 1002.0, False, 0))
    state.apply(GateMoved(0, 1025.0, True, 0))
    assert state.rate.per_second(1025.0) == 0.0
    for row in range(20, 40):
        state.apply(finished(row, at=1025.0 + row / 10))
    assert state.rate.per_second(1029.0) == pytest.approx(20 / 4)


def test_rows_of_an_earlier_session_tell_nothing_of_the_present_speed() -> None:
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


def test_a_time_that_is_not_known_is_no_part_of_the_times() -> None:
    known = folded(started(), finished(1, total_ms=4000.0))
    both = folded(started(), finished(0, total_ms=0.0), finished(1, total_ms=4000.0))
    assert both.rollout_s.result() == known.rollout_s.result()


def test_a_line_that_cannot_be_read_is_no_rollout_that_waits_while_the_run_goes_on() -> None:
    state = folded(started(), ReadingMoved(0, 0.0, 9, 9, 2))
    assert state.waiting == 4
    state.apply(RunFinished(0, 2000.0, "interrupted", 130))
    assert state.waiting == 6


def test_a_last_line_that_became_whole_and_is_no_row_stays_reported() -> None:
    torn = LineUnreadable(0, 0.0, "results.jsonl", 3, 10, 5, "not finished", ends=False)
    whole = LineUnreadable(0, 0.0, "results.jsonl", 3, 10, 9, "junk")
    state = folded(started(), torn, ReadingMoved(0, 0.0, 15, 15, 1, unfinished=3))
    for event in (whole, ReadingMoved(0, 0.0, 19, 19, 1)):
        state.apply(event)
    assert state.unreadable == [whole]
    assert state.notices == [("warning", "results.jsonl, line 3: junk")]


def test_a_file_of_another_program_has_gaps_until_each_place_has_its_rollout() -> None:
    state = folded(started(1, 2, total_known=False), finished(0))
    assert state.has_gaps
    state.apply(finished(1))
    assert not state.has_gaps


def test_an_endpoint_that_is_to_get_less_than_the_run_has_its_own_limit() -> None:
    state = folded(started(max_concurrent=64), ConcurrencyMoved(0, 1.0, 0, 4, 8, 1))
    assert state.at_a_time == (4, 8)


ROWS = 6


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """The plain events of a run, and the same one with rows mixed and finished ones repeated."""
    trajectories: list[list[Event]] = []
    for row in range(ROWS):
        steps = draw(st.lists(st.sampled_from([Stage.SETUP, Stage.MODEL, Stage.TOOL]), max_size=3))
        trajectory: list[Event] = [
            staged(row, stage, turns=i, input_tokens=3 * i) for i, stage in enumerate(steps)
        ]
        if draw(st.booleans()):
            reward = draw(st.sampled_from([None, 0.0, 0.25, 1.0]))
            done = finished(
                row,
                reward,
                truncated=draw(st.booleans()),
                total_ms=draw(st.sampled_from([5.0, 80.0, 1000.0])),
                model_ms=draw(st.lists(st.sampled_from([1.0, 7.0, 900.0]), max_size=3)),
                tools=draw(
                    st.dictionaries(st.sampled_from("ab"), st.tuples(st.just(2), st.integers(0, 2)))
                ),
            )
            trajectory += [done] * draw(st.integers(1, 3))
        trajectories.append(trajectory)
    plain = [event for trajectory in trajectories for event in trajectory]
    mixed: list[Event] = []
    queues = [list(trajectory) for trajectory in trajectories if trajectory]
    while queues:
        queue = draw(st.sampled_from(queues))
        mixed.append(queue.pop(0))
        queues = [one for one in queues if one]
    return plain, mixed


@given(interleavings())
def test_any_interleaving_of_the_rows_gives_the_same_state(
    trajectories: tuple[list[Event], list[Event]],
) -> None:
    plain, mixed = trajectories
    assert figures(folded(started(), *plain)) == figures(folded(started(), *mixed))


def everything(state: RunState) -> dict[str, Any]:
    """All figures, and what is not shown of a run that only grows."""
    columns = Columns(state)
    searched = {
        name: [column.texts[code] for code in column.codes]
        for name in ("stop", "finish", "error", "class", "model", "tool", "answer")
        for column in (columns.text(name),)
    }
    return {
        **figures(state),
        "searched": searched,
        "lost": (state.usage.lost_in, state.usage.lost_out, state.cost),
        "more columns": [list(one) for one in (state.attempt, state.length, state.tool_calls)],
        "times": [None if math.isnan(ms) else ms for ms in (*state.total_ms, *state.since)],
        "sizes": (state.usage.rollout_in.result(), state.usage.rollout_out.result()),
        "trend": state.trend.result(),
    }


@st.composite
def rollouts(draw: st.DrawFn, row: int, at: float) -> RolloutFinished:
    reward = draw(st.sampled_from([None, None, 0.0, 1.0]))
    return finished(
        row,
        reward,
        error=None if reward is not None else draw(st.sampled_from(["ModelError", "ToolError"])),
        started_at=at,
        offset=int(at),
        truncated=draw(st.booleans()),
        input_tokens=draw(st.sampled_from([0, 7])),
        output_tokens=draw(st.sampled_from([0, 3])),
        lost_input=draw(st.sampled_from([0, 11])),
        stop_condition=draw(st.sampled_from([None, "has_error", "cancelled"])),
        model_ms=draw(st.lists(st.sampled_from([1.0, 7.0, 900.0]), max_size=3)),
        tools=draw(
            st.dictionaries(st.sampled_from("ab"), st.tuples(st.just(2), st.integers(0, 2)))
        ),
        answer=draw(st.sampled_from(["", "Four", "five"])),
        error_class=None if reward is not None else draw(st.sampled_from([None, "sandbox"])),
        finish_reason=draw(st.sampled_from([None, "stop", "length"])),
        models=draw(st.dictionaries(st.sampled_from("ab"), st.integers(1, 2))),
    )


@st.composite
def lives(draw: st.DrawFn) -> tuple[list[Event], dict[int, tuple[int, int]], list[Event]]:
    """What a run tells in which errored rollouts run again, what they lost, and what is left."""
    told: list[Event] = []
    lost: dict[int, tuple[int, int]] = {}
    left: dict[int, RolloutFinished] = {}
    for step in range(draw(st.integers(1, 14))):
        row = draw(st.integers(0, ROWS - 1))
        if row not in left:
            one = left[row] = draw(rollouts(row, 2000.0 + step))
            before = lost.pop(row, (0, 0))
            one.lost_input, one.lost_output = one.lost_input + before[0], before[1]
            told.append(one)
        elif left[row].error is not None:
            was = left.pop(row)
            told.append(RowsTakenBack(0, 1.0, [was]))
            spent = was.input_tokens + was.lost_input, was.output_tokens + was.lost_output
            if any(spent):
                lost[row] = spent
    return told, lost, [*left.values()]


@given(lives())
def test_rows_that_are_taken_back_leave_only_the_tokens_that_they_have_used(
    life: tuple[list[Event], dict[int, tuple[int, int]], list[Event]],
) -> None:
    told, lost, left = life
    assert everything(folded(started(), *told)) == everything(folded(started(lost=lost), *left))


def test_tokens_of_a_rollout_that_is_tried_again_stay_counted() -> None:
    state = folded(started(), staged(0, Stage.MODEL, input_tokens=7, output_tokens=3))
    state.apply(staged(0, Stage.SETUP, attempt=2, lost_input=7, lost_output=3))
    assert (state.usage.tokens_in, state.usage.tokens_out, state.usage.lost_in) == (7, 3, 7)
    again = staged(
        0, Stage.MODEL, attempt=2, input_tokens=5, output_tokens=1, lost_input=7, lost_output=3
    )
    state.apply(again)
    assert (state.tokens, state.used_by(0)) == (16, (12, 4))
    state.apply(finished(0, input_tokens=6, output_tokens=1, lost_input=7, lost_output=3))
    assert (state.tokens, state.usage.lost, state.usage.lost_out) == (17, {}, 3)


def test_a_session_that_goes_on_takes_over_what_the_one_before_has_used() -> None:
    before = (
        started(),
        finished(0, input_tokens=10, output_tokens=5),
        staged(1, Stage.MODEL, input_tokens=7, output_tokens=3),
        RunFinished(0, 1010.0, "interrupted", 130),
    )
    watched = folded(*before)
    assert watched.tokens == 25
    lost = {0: (99, 99), 1: (7, 3), 2: (4, 0)}  # the first one's row was written meanwhile
    watched.apply(started(at=1100.0, lost=lost))
    assert (watched.tokens, watched.usage.lost) == (29, {1: (7, 3), 2: (4, 0)})
    joined = folded(started(at=1100.0, lost=lost), before[1])
    assert (joined.tokens, joined.usage.lost) == (29, {1: (7, 3), 2: (4, 0)})
    watched.apply(started(at=1200.0))
    assert (watched.tokens, watched.usage.lost_in) == (15, 0), "nobody knows of them any more"


def test_a_row_is_taken_back_as_it_was_told_and_in_no_other_state() -> None:
    failed = finished(0, None, started_at=5.0)
    again = finished(0, 1.0, started_at=9.0)
    once = folded(started(), again)
    late = folded(started(), again, RowsTakenBack(0, 1.0, [failed]))
    assert everything(late) == everything(once)
    later = finished(0, None, started_at=9.0)
    other = folded(started(), later, RowsTakenBack(0, 1.0, [failed]))
    assert other.errored == 1
    untold = folded(started(), RowsTakenBack(0, 1.0, [failed]))
    assert (untold.waiting, untold.taken_back) == (6, 0)


def test_a_finished_row_that_is_told_again_is_where_its_line_is_now() -> None:
    state = folded(
        started(), finished(0, 1.0, offset=500, length=9), finished(0, offset=0, length=9)
    )
    assert (state.offset[0], state.length[0], state.finished) == (0, 9, 1)


def test_the_limit_is_what_it_was_moved_to_last() -> None:
    first = started(max_concurrent=16)
    state = folded(first, LimitMoved(0, 5.0, 24, 16))
    assert state.run is not None and state.run.max_concurrent == 24
    assert state.limit_moved is not None and state.limit_moved.before == 16
    assert first.max_concurrent == 16


def test_a_saved_run_that_turns_out_larger_gets_more_places() -> None:
    state = folded(started(2, 2), finished(0, 0.5), started(4, 2), finished(7, 1.0))
    assert (state.total, state.waiting, state.finished) == (8, 6, 2)
    assert (state.reward[0], state.reward[7], math.isnan(state.reward[5])) == (0.5, 1.0, True)
    assert state.examples.result(2).n == 0 and state.offset[5] == -1
    once = folded(started(4, 2), finished(0, 0.5), finished(7, 1.0))
    assert figures(once) == figures(state)


def test_a_saved_run_that_is_read_anew_forgets_its_rows() -> None:
    bad = LineUnreadable(0, 0.0, "results.jsonl", 3, 10, 5, "junk")
    end = RunFinished(0, 2000.0, "finished", 0)
    state = folded(started(), finished(0, 0.5), bad, end, ReadingMoved(0, 0.0, 5, 9, 1))
    assert (state.read, state.unreadable_lines, state.unreadable) == ((5, 9), 1, [bad])
    assert state.notices == [("warning", "results.jsonl, line 3: junk")]
    state.apply(started(reading=1))
    assert (state.finished, state.end, state.notices, state.unreadable) == (0, None, [], [])
    state.apply(finished(0, 1.0, offset=77))
    assert (state.reward[0], state.offset[0]) == (1.0, 77)


def test_the_cost_of_the_whole_is_projected_from_what_has_finished() -> None:
    state = folded(started(4, 2, input_price=2.0, output_price=10.0))
    assert projected_cost(state) is None
    state.apply(staged(5, Stage.MODEL, input_tokens=500_000))
    assert projected_cost(state) is None, "nothing has finished"
    state.apply(finished(0, 1.0, input_tokens=1_000_000, output_tokens=100_000))
    state.apply(finished(1, 0.0, input_tokens=500_000, output_tokens=0, lost_input=500_000))
    assert state.cost == pytest.approx(6.0)
    assert projected_cost(state) == pytest.approx((3.0 + 2.0) / 2 * 8)
    dear = folded(
        started(1, 2, input_price=1.0, output_price=1.0),
        finished(0, 1.0, input_tokens=1, output_tokens=1),
        staged(1, Stage.MODEL, input_tokens=1_000_000),
    )
    assert projected_cost(dear) is None, "more than that is spent already"
    dear.apply(finished(1, 1.0, input_tokens=2_000_000))
    assert projected_cost(dear) == dear.cost
    stopped = folded(
        started(2, 2, input_price=1.0, output_price=1.0, lost={2: (3_000_000, 0)}),
        finished(0, 1.0, input_tokens=1_000_000, output_tokens=0),
    )
    assert projected_cost(stopped) == pytest.approx(4.0 + 3.0), "what was lost is paid for once"
    assert projected_tokens(stopped) == pytest.approx(7_000_000)
    assert projected_cost(folded(started(1, 1), finished(0, 1.0))) is None, "no price"


def test_what_waits_to_be_tried_again_is_known_until_it_is_tried() -> None:
    state = folded(
        started(2, 2),
        staged(0, Stage.SLEEPING, note="status 503, again in 4s", again_at=1009.0),
        staged(1, Stage.SLEEPING, note="no connection, again in 2s", again_at=1003.0),
    )
    assert (state.sleeping, state.next_try_at) == (2, 1003.0)
    assert state.last_cause == "no connection"
    state.apply(staged(1, Stage.SLEEPING, note="no connection, waits for a slot"))
    assert (state.sleeping, state.next_try_at) == (2, 1009.0)
    state.apply(staged(1, Stage.MODEL))
    assert (state.sleeping, state.next_try_at) == (1, 1009.0)
    assert state.notes.keys() == {0}
    state.apply(finished(0))
    assert (state.sleeping, state.next_try_at) == (0, 0.0)
    assert state.last_cause == "no connection"
    state.apply(staged(2, Stage.SLEEPING, note="status 500, again in 2s", again_at=1012.0))
    state.apply(RunFinished(0, 1010.0, "interrupted", 130))
    assert (state.sleeping, state.next_try_at, state.last_cause) == (0, 0.0, "status 500")

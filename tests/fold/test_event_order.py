"""The events of a run amount to the same in any order; rows can be taken back."""

from __future__ import annotations

from folded_states import everything, figures, folded
from hypothesis import given
from hypothesis import strategies as st
from run_events import finished, staged, started

from tui_eval.events import Event, RolloutFinished, RowsTakenBack, RunFinished, Stage

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
    """Events of a run in which errored rollouts run again, what they lost, and what is left."""
    reported: list[Event] = []
    lost: dict[int, tuple[int, int]] = {}
    left: dict[int, RolloutFinished] = {}
    for step in range(draw(st.integers(1, 14))):
        row = draw(st.integers(0, ROWS - 1))
        if row not in left:
            one = left[row] = draw(rollouts(row, 2000.0 + step))
            before = lost.pop(row, (0, 0))
            one.lost_input, one.lost_output = one.lost_input + before[0], before[1]
            reported.append(one)
        elif left[row].error is not None:
            was = left.pop(row)
            reported.append(RowsTakenBack(0, 1.0, [was]))
            spent = was.input_tokens + was.lost_input, was.output_tokens + was.lost_output
            if any(spent):
                lost[row] = spent
    return reported, lost, [*left.values()]


@given(lives())
def test_rows_that_are_taken_back_leave_only_the_tokens_that_they_have_used(
    life: tuple[list[Event], dict[int, tuple[int, int]], list[Event]],
) -> None:
    reported, lost, left = life
    assert everything(folded(started(), *reported)) == everything(folded(started(lost=lost), *left))


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


def test_a_session_that_is_resumed_takes_over_what_the_one_before_has_used() -> None:
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


def test_a_row_is_taken_back_as_it_was_reported_and_in_no_other_state() -> None:
    failed = finished(0, None, started_at=5.0)
    again = finished(0, 1.0, started_at=9.0)
    once = folded(started(), again)
    late = folded(started(), again, RowsTakenBack(0, 1.0, [failed]))
    assert everything(late) == everything(once)
    later = finished(0, None, started_at=9.0)
    other = folded(started(), later, RowsTakenBack(0, 1.0, [failed]))
    assert other.errored == 1
    unstarted = folded(started(), RowsTakenBack(0, 1.0, [failed]))
    assert (unstarted.waiting, unstarted.taken_back) == (6, 0)


def test_a_finished_row_that_is_reported_again_is_where_its_line_is_now() -> None:
    state = folded(
        started(), finished(0, 1.0, offset=500, length=9), finished(0, offset=0, length=9)
    )
    assert (state.offset[0], state.length[0], state.finished) == (0, 9, 1)

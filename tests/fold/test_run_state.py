"""What listeners read of a run: its rollouts, their counts, and what they cost."""

from __future__ import annotations

import math

import pytest
from folded_states import figures, folded
from run_events import finished, staged, started

from tui_eval.events import (
    GateMoved,
    LineUnreadable,
    Noticed,
    ReadingMoved,
    Refused,
    RunFinished,
    Stage,
)
from tui_eval.fold.columns import Columns
from tui_eval.fold.run_state import RunState
from tui_eval.fold.usage import projected_cost, projected_tokens


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


def test_a_finished_rollout_reported_twice_counts_once() -> None:
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


def test_a_second_attempt_starts_its_clock_and_its_tokens_again() -> None:
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


def test_who_comes_later_knows_how_long_a_rollout_had_run_when_it_was_held() -> None:
    state = folded(started(), staged(0, Stage.HELD, at=1.0), staged(0, Stage.HELD, at=3.0))
    assert state.passed_s(0, 9.0) == 2.0, "the first says when it began"
    state.apply(staged(0, Stage.MODEL, at=10.0))
    assert state.passed_s(0, 11.0) == 3.0


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


def test_an_endpoint_that_reports_negative_tokens_breaks_nothing() -> None:
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


def test_a_run_reported_again_keeps_what_is_known() -> None:
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


@pytest.mark.parametrize(
    ("state", "heads"), [(RunState(), ["who?", "me"]), (RunState(keeps_texts=False), ["", ""])]
)
def test_how_questions_and_answers_begin_is_kept_unless_nobody_reads_it(
    state: RunState, heads: list[str]
) -> None:
    for event in (started(), finished(0, question="Who?", answer="Me")):
        state.apply(event)
    columns = [Columns(state).text(name) for name in ("question", "answer")]
    assert [column.texts[column.codes[0]] for column in columns] == heads


def test_a_time_that_is_not_known_is_no_part_of_the_times() -> None:
    known = folded(started(), finished(1, total_ms=4000.0))
    both = folded(started(), finished(0, total_ms=0.0), finished(1, total_ms=4000.0))
    assert both.times.rollout_s.result() == known.times.rollout_s.result()


def test_a_line_that_cannot_be_read_is_no_rollout_that_waits_while_the_run_continues() -> None:
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


def test_a_last_line_that_has_grown_and_is_not_whole_yet_is_reported_once() -> None:
    short = LineUnreadable(0, 0.0, "results.jsonl", 3, 10, 5, "not finished", ends=False)
    longer = LineUnreadable(0, 0.0, "results.jsonl", 3, 10, 9, "not finished", ends=False)
    state = folded(started(), short, ReadingMoved(0, 0.0, 15, 15, 1, unfinished=3))
    for event in (longer, ReadingMoved(0, 0.0, 19, 19, 1, unfinished=3)):
        state.apply(event)
    assert state.unreadable == [longer]
    assert state.notices == [("warning", "results.jsonl, line 3: not finished")]


def test_a_file_of_another_program_has_gaps_until_each_place_has_its_rollout() -> None:
    state = folded(started(1, 2, total_known=False), finished(0))
    assert state.has_gaps
    state.apply(finished(1))
    assert not state.has_gaps


def test_a_saved_run_that_turns_out_larger_gets_more_places() -> None:
    state = folded(started(2, 2), finished(0, 0.5), started(4, 2), finished(7, 1.0))
    assert (state.total, state.waiting, state.finished) == (8, 6, 2)
    assert (state.reward[0], state.reward[7], math.isnan(state.reward[5])) == (0.5, 1.0, True)
    assert state.examples.result(2).n == 0 and state.offset[5] == -1
    once = folded(started(4, 2), finished(0, 0.5), finished(7, 1.0))
    assert figures(once) == figures(state)


def test_a_saved_run_that_is_read_again_forgets_its_rows() -> None:
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

"""The numbers that everybody shows, from events alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
from run_events import finished, staged, started

from tui_eval.events import Event, RunFinished, Stage
from tui_eval.fold.columns import Columns
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import Summary, summarize, worst_examples
from tui_eval.runs.export.source import row_object
from tui_eval.runs.summary_json import numbers_object
from tui_eval.stats.quantiles import Quantiles


def folded(*events: Event) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def summary(*events: Event) -> Summary:
    return summarize(folded(*events))


def test_every_rollout_is_used_errored_or_missing() -> None:
    found = summary(
        started(3, 2), finished(0, 1.0), finished(1, None), staged(2, Stage.MODEL), finished(4, 0.0)
    )
    assert (found.total, found.used, found.errored, found.missing) == (6, 2, 1, 3)
    assert (found.examples, found.complete_examples) == (3, 0)
    assert found.status == "running"


def test_a_rollout_that_was_not_scored_is_missing() -> None:
    found = summary(started(1, 2), finished(0, None, error=None), finished(1, 1.0))
    assert (found.finished, found.used, found.errored, found.missing) == (2, 1, 0, 1)


def test_the_mean_over_rollouts_and_that_over_examples_are_both_reported() -> None:
    rewards = [[1, 1, 1, 1], [0], [1, 0]]
    reported = [
        finished(4 * place + at, reward, per_example=4)
        for place, group in enumerate(rewards)
        for at, reward in enumerate(group)
    ]
    found = numbers_object(summary(started(3, 4), *reported, finished(5, None, per_example=4)))
    assert found["reward"]["mean"] == pytest.approx(0.714285714286, abs=1e-12)
    assert found["reward_by_example"] == {"mean": pytest.approx(0.5), "examples": 3}
    assert numbers_object(summary(started(3, 4)))["reward_by_example"] == {
        "mean": None,
        "examples": 0,
    }


def test_durations_are_of_rollouts_without_error_and_of_every_answered_call() -> None:
    found = summary(
        started(1, 3),
        finished(0, 1.0, per_example=3, total_ms=1000.0, model_ms=[100.0, 300.0]),
        finished(1, 1.0, per_example=3, total_ms=3000.0, model_ms=[200.0]),
        finished(2, None, per_example=3, total_ms=9000.0, model_ms=[400.0]),
    )
    assert found.rollout_s == Quantiles(2, 2.0, pytest.approx(2.8), pytest.approx(2.98))
    assert (found.model_call_s.n, found.model_call_s.p50) == (4, pytest.approx(0.25))


def test_times_and_tokens_that_nobody_reported_are_none() -> None:
    unknown = {"total_ms": 0.0, "generation_ms": 0.0, "scoring_ms": 0.0}
    silent = {**unknown, "input_tokens": 0, "output_tokens": 0}
    state = folded(started(1, 2, input_price=1.0, output_price=1.0), finished(0, 1.0, **silent))
    found = summarize(state)
    assert found.rollout_s == Quantiles(0) and found.known_tokens == (None, None)
    assert found.cost is None
    numbers = numbers_object(found)
    assert [numbers["tokens"][name] for name in ("input", "output", "total")] == [None] * 3
    assert numbers["latency"]["rollout_s"] == {"n": 0, "p50": None, "p90": None, "p99": None}
    reported = row_object(state, 0, {})
    assert (reported["input_tokens"], reported["output_tokens"], reported["time_s"]) == (
        None,
        None,
        None,
    )
    for name in ("input", "output", "tokens", "time"):
        assert math.isnan(Columns(state).numbers(name)[0])
    state.apply(finished(1, 1.0))
    assert state.times.mean_ms is not None and state.times.mean_ms[0] == 300.0, (
        "what nobody reported is not averaged"
    )
    assert summarize(state).rollout_s.p50 == pytest.approx(0.301)


def test_a_file_that_reports_only_all_tokens_does_not_report_those_of_prompts() -> None:
    state = folded(started(1, 1), finished(0, 1.0, per_example=1, input_tokens=0))
    assert summarize(state).known_tokens == (None, 5)
    assert numbers_object(summarize(state))["tokens"]["total"] == 5
    assert row_object(state, 0, {})["input_tokens"] is None
    assert Columns(state).numbers("tokens").tolist() == [5.0]


def test_tool_calls_are_added_up_by_name_the_busiest_first() -> None:
    found = summary(
        started(1, 2),
        finished(0, 1.0, tools={"add": (1, 0), "look_up": (3, 1)}),
        finished(1, None, tools={"look_up": (1, 1)}),
    )
    assert list(found.tools.items()) == [("look_up", (4, 2)), ("add", (1, 0))]


def test_tokens_and_cost_are_of_all_rollouts_errored_ones_too() -> None:
    found = summary(
        started(1, 2, input_price=2.0, output_price=4.0),
        finished(0, 1.0, input_tokens=1_000_000, output_tokens=0),
        finished(1, None, input_tokens=0, output_tokens=500_000),
    )
    assert (found.input_tokens, found.output_tokens) == (1_000_000, 500_000)
    assert found.cost == pytest.approx(4.0)
    assert summary(started(1, 2), finished(0)).cost is None


def test_tokens_of_attempts_that_were_run_again_are_paid_for_too() -> None:
    found = summary(
        started(1, 1, input_price=1.0, output_price=1.0),
        staged(0, Stage.SLEEPING, input_tokens=7, output_tokens=3),
        staged(0, Stage.SETUP, attempt=2),
        finished(0, attempt=2, input_tokens=7, output_tokens=5, lost_input=7, lost_output=3),
    )
    assert (found.input_tokens, found.output_tokens) == (14, 8)
    assert (found.lost_in, found.lost_out) == (7, 3)
    assert found.cost == pytest.approx(22e-6)
    assert (found.used_in, found.used_out, found.with_usage) == (7, 5, 1)


@pytest.mark.parametrize(
    ("run", "seconds"),
    [({"at": 1000.0}, 60.0), ({"at": 1000.0, "worked_ms": 5000.0}, 65.0), ({"at": 2000.0}, 0.0)],
)
def test_the_time_is_that_of_all_sessions(run: dict[str, Any], seconds: float) -> None:
    found = summary(started(1, 1, **run), RunFinished(0, 1060.0, "finished", 0))
    assert found.seconds == pytest.approx(seconds)


def test_a_run_that_is_resumed_has_the_numbers_of_one_that_never_stopped() -> None:
    rows = [finished(row, row % 3 / 2, tools={"a": (1, 0)}, model_ms=[row]) for row in range(6)]
    whole = summary(started(3, 2), *rows)
    again = summary(started(3, 2), *rows[:3], RunFinished(0, 1.0, "interrupted", 130),
                    started(3, 2, at=5000.0), *rows[3:])  # fmt: skip
    session = {"run": whole.run, "end": None, "seconds": 0.0}
    assert vars(again) | session == vars(whole) | session


def test_the_worst_examples_are_those_without_a_reward_then_the_lowest() -> None:
    state = folded(
        started(4, 2),
        finished(0, 0.5),
        finished(2, 0.25),
        *(finished(row, None, example_id="q-3") for row in (6, 7)),
    )
    assert [name for name, _ in worst_examples(state, 9)] == ["q-3", 1, 0]
    assert [name for name, _ in worst_examples(state, 1)] == ["q-3"]


def test_a_run_that_has_not_started_has_no_summary() -> None:
    with pytest.raises(ValueError, match="has not started"):
        summarize(RunState())

"""Anytime intervals of a run: of the examples that stand at its beginning and are all over."""

from __future__ import annotations

from random import Random

import pytest
from run_events import finished, started

from tui_eval.events import RowsTakenBack
from tui_eval.fold.anytime import anytime_means
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import summarize
from tui_eval.runs.summary_json import summary_object
from tui_eval.stats.intervals import AnytimeInterval
from tui_eval.text.figures import interval_text
from tui_eval.tui.run.numbers.lines import numbers

UNTIL = "width(reward) < 0.4 and low(score) > 0.1"


def run(rows: list[tuple[int, float | None]], examples: int, until: str = UNTIL) -> RunState:
    state = RunState()
    state.apply(started(examples, 2, until=until))
    for row, reward in rows:
        state.apply(finished(row, reward))
    return state


def interval(means: list[float]) -> tuple[float, float]:
    found = AnytimeInterval()
    for mean in means:
        found.add(mean)
    return found.low, found.high


REWARDS = [Random(row).random() for row in range(200)]


@pytest.mark.parametrize("seed", range(4))
def test_only_examples_before_the_first_that_is_not_over_count(seed: int) -> None:
    rows = [row for row in range(200) if row != 121]
    Random(seed).shuffle(rows)
    state = run([(row, REWARDS[row]) for row in rows], 100)
    found = anytime_means(state)
    assert found is not None and found.examples == 60
    means = [(REWARDS[2 * place] + REWARDS[2 * place + 1]) / 2 for place in range(60)]
    assert found.estimate("reward")[1:] == pytest.approx(interval(means), abs=1e-9)
    state.apply(finished(121, REWARDS[121]))
    assert anytime_means(state).examples == 100


def test_errored_rollouts_are_over_and_have_no_reward() -> None:
    state = run([(0, 0.5), (1, None), (2, None), (3, None), (4, 1.0), (5, 0.0)], 3)
    found = anytime_means(state)
    assert found is not None and found.examples == 3
    assert found.estimate("reward")[1:] == interval([0.5, 0.5])
    assert found.estimate("score")[1:] == interval([0.5, 0.5])


def test_a_rollout_that_is_taken_back_is_not_over() -> None:
    events = [finished(row, None if row == 3 else 1.0) for row in range(8)]
    state = RunState()
    state.apply(started(4, 2, until=UNTIL))
    for event in events:
        state.apply(event)
    assert anytime_means(state).examples == 4
    state.apply(RowsTakenBack(0, 1003.0, [events[3]]))
    assert anytime_means(state).examples == 1
    state.apply(finished(3, 0.0, at=1004.0, started_at=1003.5))
    found = anytime_means(state)
    assert found.examples == 4
    assert found.estimate("reward")[1:] == interval([1.0, 0.5, 1.0, 1.0])


def test_a_condition_is_judged_by_them() -> None:
    rows = [(row, float(row % 10 < 9)) for row in range(200)]
    assert anytime_means(run(rows[:20], 100)).judge().truth is False
    found = anytime_means(run(rows, 100)).judge()
    assert found.truth is True and found.reason.startswith("width(reward) = 0.")
    assert anytime_means(run([], 100)).judge().truth is None


def test_a_value_outside_0_to_1_makes_no_interval_of_its_name() -> None:
    state = run([(row, 1.0) for row in range(6)] + [(6, 1.5), (7, 0.0)], 4)
    found = anytime_means(state)
    assert found.estimate("reward") is None and found.judge().truth is None
    (why,) = {found.unusable["reward"], found.unusable["score"]}
    assert why == "1.5 is not from 0 to 1"
    assert mean_reward(state).method == state.reward_mean.result().method


def test_a_run_that_may_stop_early_has_the_anytime_interval_in_its_headline() -> None:
    rows = [(row, REWARDS[row]) for row in range(20)]
    state = run(rows, 100)
    means = [(REWARDS[row] + REWARDS[row + 1]) / 2 for row in range(0, 20, 2)]
    low, high = interval(means)
    reward = summarize(state).reward
    assert (reward.low, reward.high, reward.method) == (low, high, "anytime")
    assert reward.mean == state.reward_mean.result().mean
    assert summarize(state).metrics["score"][5:8] == (low, high, "anytime")
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, 80)]
    (score,) = (line for line in lines if line.startswith("score "))
    assert interval_text(low, high) in score and score.endswith("anytime-valid")
    reported = summary_object(state)
    assert reported["reward"]["method"] == "anytime"
    assert reported["reward_anytime"] == {"low": low, "high": high, "examples": 10}
    fixed = summary_object(run(rows, 100, until=""))
    assert fixed["reward_anytime"] is None and fixed["reward"]["method"] != "anytime"


def test_nothing_is_known_before_the_first_example_is_over() -> None:
    reward = mean_reward(run([(1, 1.0)], 4))
    assert (reward.mean, reward.low, reward.high) == (1.0, None, None)


def test_a_condition_that_is_none_is_left_alone() -> None:
    assert anytime_means(run([(0, 1.0)], 4, until="width(")) is None

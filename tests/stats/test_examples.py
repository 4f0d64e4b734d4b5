"""Each example's own figures, and how many examples teach a trainer nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.examples import ExampleFigures, RunningExamples
from tui_eval.stats.rewards import is_equal


def figures_of(groups: list[list[float]], threshold: float = 0.5) -> RunningExamples:
    running = RunningExamples(len(groups), each=2)
    for example, rewards in enumerate(groups):
        for reward in rewards:
            running.add(example, reward, reward >= threshold)
    return running


def test_half_of_the_groups_of_the_table_have_no_variance() -> None:
    running = figures_of(
        [[1] * 4, [0] * 4, [1, 0, 0, 0], [1, 1, 0, 0], [0.5] * 4, [0.2, 0.9, 0.4, 0.1]]
    )
    assert running.equal / running.with_several == 0.5
    assert [i for i in range(6) if running.result(i).all_equal] == [0, 1, 4]


def test_rewards_that_differ_by_rounding_alone_are_equal() -> None:
    running = figures_of([[0.1 + 0.2, 0.3, 0.3]])
    assert (running.equal, running.with_several) == (1, 1)


def test_one_rollout_alone_is_neither_equal_nor_different() -> None:
    running = figures_of([[1.0], []])
    assert (running.equal, running.with_several) == (0, 0)
    assert running.result(0) == ExampleFigures(1, 0, 2, 1.0, 0.0, 1, False)
    assert running.result(1) == ExampleFigures(0, 0, 2, None, None, 0, False)


def test_errored_rollouts_are_counted_beside() -> None:
    running = figures_of([[1.0, 0.0]])
    running.add_error(0)
    running.add_error(2)
    assert running.result(0) == ExampleFigures(2, 1, 2, 0.5, 0.5, 1, False)
    assert running.result(2).errored == 1
    assert (len(running), running.complete) == (3, 1)


REWARDS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-10, 10))


@given(st.lists(st.tuples(st.integers(0, 4), REWARDS), max_size=40))
def test_figures_are_those_of_each_examples_rewards(pairs: list[tuple[int, float]]) -> None:
    running = RunningExamples(5, each=3)
    for example, reward in pairs:
        running.add(example, reward, reward >= 0.5)
    equal = 0
    means = []
    for example in range(5):
        rewards = [reward for place, reward in pairs if place == example]
        found = running.result(example)
        assert (found.n, found.passed) == (len(rewards), sum(r >= 0.5 for r in rewards))
        if rewards:
            assert found.mean == pytest.approx(np.mean(rewards), abs=1e-9)
            means.append(np.mean(rewards))
            assert found.std == pytest.approx(np.std(rewards), abs=1e-6)
        equal += len(rewards) > 1 and is_equal(min(rewards), max(rewards))
    assert running.equal == equal
    assert running.scored == len(means)
    assert running.mean_of_means == (pytest.approx(np.mean(means), abs=1e-9) if means else None)
    assert running.complete == sum(running.result(example).n >= 3 for example in range(5))

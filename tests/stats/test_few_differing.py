"""Intervals of examples of which few differ from the others."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paired_rewards import paired_difference

from tui_eval.exit_codes import ExitCode
from tui_eval.stats.intervals import unseen_share, widened
from tui_eval.stats.mean import Mean, RunningMean
from tui_eval.stats.paired import PairedDifference
from tui_eval.stats.student_t import t_quantile
from tui_eval.stats.verdict import examples_for_gate, gate_power, judge, judge_gate


def differing(n: int, count: int, by: float) -> PairedDifference:
    """Of two runs of `n` examples between 0 and 1, of which `count` differ."""
    second = [0.5 + by] * count + [0.5] * (n - count)
    return paired_difference(second, [0.5] * n, scale=1.0)


def half(found: PairedDifference | Mean) -> float:
    """The half width of an interval."""
    assert found.low is not None and found.high is not None
    return (found.high - found.low) / 2


def mean_of(values: list[float]) -> Mean:
    """Of one rollout an example."""
    running = RunningMean()
    for cluster, value in enumerate(values):
        running.add(cluster, value)
    return running.result()


def test_one_rollout_that_is_worse_does_not_pass_a_gate_that_equal_runs_do_not() -> None:
    equal, one_worse = differing(150, 0, 0.0), differing(150, 1, -1 / 3)
    assert judge_gate(equal, 0.02).code is ExitCode.INCONCLUSIVE
    assert judge_gate(one_worse, 0.02).code is ExitCode.INCONCLUSIVE
    assert half(one_worse) > 0.9 * half(equal)


@pytest.mark.parametrize("n", [6, 20, 50, 150, 1000])
@pytest.mark.parametrize("by", [0.5, 1 / 3, 0.01])
def test_no_example_that_differs_makes_the_interval_jump(n: int, by: float) -> None:
    most = min(n - 1, max(min(5, n // 3), n // 10))
    halves = [half(differing(n, count, by)) for count in range(most + 1)]
    steps = [after - before for before, after in pairwise(halves)]
    assert min(steps) > -0.5 * unseen_share(n)
    runs = [half(mean_of([0.5 + by] * count + [0.5] * (n - count))) for count in range(most + 1)]
    assert min(after - before for before, after in pairwise(runs)) > -0.5 * unseen_share(n)


@given(
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.25, 0.5]), min_size=2, max_size=80),
    st.floats(1, 50),
)
def test_an_interval_is_never_narrower_than_students(values: list[float], scale: float) -> None:
    found = paired_difference(values, [0.0] * len(values), scale=scale)
    if found.se and found.mean is not None:
        low, high = found.mean - half_of_t(found), found.mean + half_of_t(found)
        assert found.low is not None and found.high is not None
        assert found.low <= max(low, -scale) + 1e-12 and found.high >= min(high, scale) - 1e-12


def test_where_a_tenth_differs_it_is_students() -> None:
    few, many = differing(100, 9, 0.1), differing(100, 10, 0.1)
    assert (few.method, many.method) == ("t_widened", "t")
    assert many.se is not None and half(many) == pytest.approx(half_of_t(many))


def half_of_t(found: PairedDifference) -> float:
    """As Student's t has it."""
    assert found.se is not None
    return t_quantile(0.975, found.n - 1) * found.se


def test_a_mean_of_which_one_example_differs_is_as_unsure_as_equal_ones() -> None:
    equal, one = mean_of([0.5] * 40), mean_of([0.5] * 39 + [0.51])
    assert (equal.method, one.method) == ("bound", "t_widened")
    assert half(one) > 0.75 * half(equal)
    assert one.estimator == "t, 39 df, widened as few examples differ"
    first = mean_of([0.51] + [0.5] * 39)
    assert half(first) == pytest.approx(half(one)), "the order does not matter"


def test_values_of_no_known_range_are_students() -> None:
    assert paired_difference([4.0] * 40 + [5.0], [4.0] * 41).method == "t"
    assert mean_of([4.0] * 40 + [5.0]).method == "t"


def test_a_gate_says_how_seldom_it_passes_and_how_many_examples_would() -> None:
    found = differing(100, 1, 0.1)
    assert judge_gate(found, 0.02).code is ExitCode.INCONCLUSIVE
    assert (gate_power(found, 0.02) or 0.0) < 0.01
    needed = examples_for_gate(found, 0.02)
    assert needed is not None and 140 < needed < 200
    more = differing(needed + 20, round((needed + 20) / 100), 0.1)
    assert judge_gate(more, 0.02).code is ExitCode.FINISHED


def test_what_so_few_could_show_and_what_it_takes_follow_the_interval() -> None:
    found = differing(150, 6, 0.1)
    verdict = judge(found, found.p)
    assert verdict.why == "p and interval disagree", "p = 2/64"
    assert verdict.detectable is not None and verdict.detectable >= half(found)
    assert verdict.needed is not None and found.mean is not None
    assert verdict.needed > 150
    there = differing(verdict.needed, math.ceil(verdict.needed * 6 / 150), 0.1)
    assert half(there) == pytest.approx(found.mean, rel=0.1)


@pytest.mark.parametrize(("groups", "enough"), [(6, 2), (12, 4), (30, 5), (60, 6)])
def test_so_many_that_differ_are_believed(groups: int, enough: int) -> None:
    assert widened(0.01, groups, enough, 1.0) == 0.01
    assert widened(0.01, groups, enough - 1, 1.0) > 0.01

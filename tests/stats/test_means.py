"""Means and their intervals against numbers that were computed independently."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.intervals import wilson
from tui_eval.stats.mean import RunningMean


def mean_of(groups: list[list[float]]) -> RunningMean:
    running = RunningMean()
    for cluster, values in enumerate(groups):
        for value in values:
            running.add(cluster, value)
    return running


def clustered_se(pairs: list[tuple[int, float]]) -> float:
    values = np.array([value for _, value in pairs])
    clusters = np.array([cluster for cluster, _ in pairs])
    values = values - values[0]  # exact for close values, where subtracting the mean is not
    residuals = values - values.mean()
    names = np.unique(clusters)
    cr0 = math.sqrt(sum(residuals[clusters == name].sum() ** 2 for name in names)) / len(values)
    return cr0 * math.sqrt(len(names) / (len(names) - 1))


def test_one_rollout_an_example_has_the_plain_standard_error() -> None:
    result = mean_of([[v] for v in (1, 0, 1, 1, 0, 1, 0, 1, 1, 1)]).result()
    assert (result.n, result.groups) == (10, 10)
    assert result.mean == pytest.approx(0.7, abs=1e-12)
    assert result.se == pytest.approx(0.152752523165, abs=1e-9)
    assert result.method == "wilson"
    assert (result.low, result.high) == pytest.approx((0.396778147461, 0.892208732594), abs=1e-9)


@pytest.mark.parametrize(
    ("groups", "mean", "se"),
    [
        ([[1, 1, 1], [0, 0, 0, 1], [0, 1], [1]], None, None),
        ([[1, 1, 1], [0, 0, 0], [1, 0], [1, 1]], 0.6, 0.267332502077),
        ([[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]], 0.5, 0.215165741456),
        ([[1, 1, 1, 1], [0], [1, 0]], 0.714285714286, None),
    ],
)
def test_several_rollouts_an_example_are_clustered(
    groups: list[list[float]], mean: float | None, se: float | None
) -> None:
    result = mean_of(groups).result()
    pairs = [(cluster, value) for cluster, values in enumerate(groups) for value in values]
    assert result.se == pytest.approx(clustered_se(pairs), abs=1e-12)
    if mean is not None:
        assert result.mean == pytest.approx(mean, abs=1e-9)
    if se is not None:
        assert result.se == pytest.approx(se, abs=1e-9)
    assert result.method == "wilson" and result.weight is not None and result.mean is not None
    assert 1 <= result.weight <= result.n
    ends = wilson(result.mean * result.weight, result.weight)
    assert (result.low, result.high) == ends, "rewards of 0 and 1 have one kind of interval"


def test_the_effective_number_is_between_the_examples_and_what_the_error_says() -> None:
    few = mean_of([[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]]).result()
    assert few.se == pytest.approx(0.215165741456, abs=1e-9)
    measured, believed = 12 * few.se**2 / 0.25, 2 / 17
    assert few.weight == pytest.approx(12 / ((1 - believed) * 3 + believed * measured))
    assert mean_of([[1, 1, 1]] * 5).result().weight == 5
    assert mean_of([[1], [0], [1]]).result().weight == 3


def test_other_rewards_have_students_interval() -> None:
    values = [[0.2, 0.4], [0.9, 0.7], [0.5, 0.1]]
    result = mean_of(values).result()
    means = [sum(pair) / 2 for pair in values]
    low, high = scipy.stats.t.interval(0.95, 2, loc=np.mean(means), scale=scipy.stats.sem(means))
    assert (result.method, result.weight) == ("t", 2)
    assert result.low == pytest.approx(max(low, 0.0)), "a share is not below 0"
    assert result.high == pytest.approx(min(high, 1.0)), "nor above 1"


def test_values_beyond_0_and_1_may_have_an_interval_beyond_them() -> None:
    result = mean_of([[0.9, 1.0], [0.2, 1.0], [1.1]]).result()
    assert result.method == "t"
    assert result.high is not None
    assert result.high > 1.0


@pytest.mark.parametrize(("value", "is_share"), [(1.0, False), (0.0, False), (1.0, True)])
def test_a_count_that_is_always_one_is_not_taken_for_a_share(value: float, is_share: bool) -> None:
    running = RunningMean(is_share)
    for cluster in range(5):
        running.add(cluster, value)
    assert running.result().method == ("wilson" if is_share else "none")
    running.add(5, 1.0 - value)
    assert running.result().method == "wilson"


def test_no_value_has_no_mean_and_one_has_no_standard_error() -> None:
    none = RunningMean().result()
    assert (none.n, none.mean, none.std, none.se, none.low) == (0, None, None, None, None)
    one = mean_of([[0.3]]).result()
    assert (one.n, one.mean, one.std, one.se, one.low, one.method) == (
        1,
        0.3,
        0,
        None,
        None,
        "none",
    )


def test_several_rollouts_of_one_example_have_no_standard_error() -> None:
    result = mean_of([[0.2, 0.4]]).result()
    assert result.mean == pytest.approx(0.3)
    assert (result.se, result.low, result.method) == (None, None, "none")


@pytest.mark.parametrize(
    "groups", [[[1, 1], [1, 1]], [[0], [0]], [[1, 0]] * 2, [[1, 1, 0]] * 7, [[1]]]
)
def test_pass_or_fail_never_has_an_interval_of_no_width(groups: list[list[float]]) -> None:
    result = mean_of(groups).result()
    assert result.method == "wilson"
    assert result.low is not None and result.high is not None
    assert result.high - result.low > 0.1


def test_equal_rewards_have_the_interval_that_so_many_equal_ones_exclude() -> None:
    result = mean_of([[0.1, 0.2]] * 5).result()
    assert (result.se, result.method) == (0.0, "bound")
    assert result.low == 0.0
    assert result.high == pytest.approx(0.15 + 0.521823750105)


def test_equal_values_without_a_known_range_have_no_interval() -> None:
    result = mean_of([[3.0]] * 5).result()
    assert (result.low, result.high, result.method) == (None, None, "none")


def test_the_standard_deviation_is_of_the_population() -> None:
    assert mean_of([[1], [0], [1], [1]]).result().std == pytest.approx(math.sqrt(3) / 4)


def test_values_of_the_greatest_size_do_not_raise() -> None:
    assert mean_of([[1.7e308], [-1.7e308], [0.0]]).result().n == 3


VALUES = st.one_of(
    st.floats(-100, 100),
    st.sampled_from([0.0, 1.0, 0.5]),
    st.floats(0, 1).map(lambda x: 1e9 + x),
)


@given(st.lists(st.tuples(st.integers(0, 6), st.floats(-100, 100)), min_size=1, max_size=60))
def test_the_running_mean_is_what_numpy_computes_from_all_values(
    pairs: list[tuple[int, float]],
) -> None:
    _compare(pairs)


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.floats(0, 1).map(lambda x: 1e9 + x)),
        min_size=1,
        max_size=60,
    )
)
def test_great_and_close_values_lose_no_digits(pairs: list[tuple[int, float]]) -> None:
    _compare(pairs)


def _compare(pairs: list[tuple[int, float]]) -> None:
    running = RunningMean()
    for cluster, value in pairs:
        running.add(cluster, value)
    result = running.result()
    values = np.array([value for _, value in pairs])
    span = float(values.max() - values.min())
    assert result.mean == pytest.approx(float(values.mean()), rel=1e-12, abs=1e-12)
    std = float((values - values[0]).std())
    assert result.std == pytest.approx(std, rel=1e-9, abs=1e-6 * span + 1e-15)
    if result.groups > 1:
        least = 2e-9  # what is below that is equal
        assert result.se == pytest.approx(clustered_se(pairs), rel=1e-6, abs=1e-6 * span + least)
    else:
        assert result.se is None


@given(st.lists(st.tuples(st.integers(0, 4), VALUES), max_size=30), st.randoms())
def test_the_order_of_the_values_does_not_matter(
    pairs: list[tuple[int, float]], random: object
) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one, other = RunningMean(), RunningMean()
    for running, order in ((one, pairs), (other, shuffled)):
        for cluster, value in order:
            running.add(cluster, value)
    first, second = one.result(), other.result()
    assert (first.n, first.groups) == (second.n, second.groups)
    if pairs:
        span = max(v for _, v in pairs) - min(v for _, v in pairs)
        assert first.mean == pytest.approx(second.mean, rel=1e-12, abs=1e-12)
        if first.se is not None:
            assert first.se == pytest.approx(second.se, abs=1e-5 * span + 1e-12)


def test_a_weighted_sum_that_floats_rounded_is_a_pass() -> None:
    found = RunningMean()
    for place in range(10):
        found.add(place, 0.6 + 0.3 + 0.1)
    mean = found.result()
    assert mean.method == "wilson"
    assert mean.low == pytest.approx(0.722467200137)


def test_an_interval_of_rewards_from_0_to_1_stays_there() -> None:
    found = RunningMean()
    for place, value in enumerate([0.3, 1.0, 1.0]):
        found.add(place, value)
    assert found.result().high == 1.0
    found.add(3, 1.5)
    assert (found.result().high or 0.0) > 1.0

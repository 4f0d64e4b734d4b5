"""Intervals against tables, independent computations, and what may never happen to them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.intervals import (
    degrees_of_freedom,
    effective_number,
    interval_name,
    unseen_share,
    wilson,
)
from tui_eval.stats.mean import Mean, RunningMean
from tui_eval.stats.student_t import t_chance, t_quantile


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.277532799863),
        (10, 10, 0.722467200137, 1.0),
        (7, 10, 0.396778147461, 0.892208732594),
        (1, 1, 0.206549314377, 1.0),
        (460, 500, 0.892893683422, 0.94070187059),
    ],
)
def test_wilson_intervals_are_those_of_the_table(
    successes: int, n: int, low: float, high: float
) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=1e-9)


@given(st.one_of(st.floats(0.5, 900), st.floats(900, 1e7)), st.floats(0.001, 0.999))
def test_quantiles_of_students_t_are_those_of_scipy(df: float, share: float) -> None:
    expected = scipy.stats.t.ppf(share, df)
    assert t_quantile(share, df) == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert t_chance(expected, df) == pytest.approx(share, abs=1e-6 if df > 1e5 else 1e-9)


def bell_mccaffrey(sizes: list[int]) -> float:
    n = sum(sizes)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    leverage = np.full((n, n), 1 / n)
    columns = []
    for place in range(len(sizes)):
        own = cluster == place
        block = np.eye(own.sum()) - leverage[np.ix_(own, own)]
        adjusted = np.linalg.inv(scipy.linalg.sqrtm(block).real) @ np.full(own.sum(), 1 / n)
        columns.append((np.eye(n) - leverage)[:, own] @ adjusted)
    values = np.linalg.eigvalsh(np.array(columns) @ np.array(columns).T)
    return float(values.sum() ** 2 / (values**2).sum())


@given(st.lists(st.integers(1, 6), min_size=2, max_size=9))
def test_degrees_of_freedom_are_bell_and_mccaffreys(sizes: list[int]) -> None:
    assert degrees_of_freedom(np.bincount(sizes).tolist()) == pytest.approx(
        bell_mccaffrey(sizes), rel=1e-6
    )


def test_equal_groups_have_one_degree_of_freedom_less_than_groups() -> None:
    assert degrees_of_freedom([0, 0, 0, 5]) == 4
    assert degrees_of_freedom([7, 0, 0, 5]) == 4, "a group without a value is none"


@pytest.mark.parametrize(("groups", "share"), [(5, 0.521823750105), (200, 0.018275340355)])
def test_what_equal_examples_exclude_is_the_exact_binomial_bound(groups: int, share: float) -> None:
    assert unseen_share(groups) == pytest.approx(share, abs=1e-12)
    assert unseen_share(groups) == pytest.approx(scipy.stats.beta.ppf(0.975, 1, groups))


def result_of(groups: list[list[int]]) -> Mean:
    running = RunningMean()
    for place, values in enumerate(groups):
        for value in values:
            running.add(place, value)
    return running.result()


def test_one_rollout_that_flips_does_not_make_the_interval_jump() -> None:
    before = result_of([[1, 1, 0]] * 5)
    after = result_of([*([[1, 1, 0]] * 4), [1, 1, 1]])
    assert before.low is not None and after.low is not None
    assert after.low - before.low < 0.1, "by standard errors alone it was [.28,.91], then [.60,.86]"


groups_of_rollouts = st.tuples(st.integers(2, 40), st.integers(1, 12)).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 1), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


@given(groups_of_rollouts, st.data())
def test_no_flip_moves_an_end_by_more_than_twice_what_it_moves_wilsons(
    groups: list[list[int]], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(groups) - 1))
    number = data.draw(st.integers(0, len(groups[place]) - 1))
    flipped = [list(values) for values in groups]
    flipped[place][number] = 1 - flipped[place][number]
    assert greatest_jump(groups, flipped) <= 2


@pytest.mark.parametrize(
    ("passing", "each"),
    [
        ([1, *[7] * 19], 8),
        ([0, *[15] * 19], 16),
        ([1, 17, 19, 21, 23, 24, 25, 26, 26, 28, *[32] * 10], 32),
        ([0, 16, 21, 21, 23, 23, 24, 26, *[64] * 92], 64),
    ],
)
def test_nor_with_many_rollouts_of_an_example(passing: list[int], each: int) -> None:
    def groups(counts: list[int]) -> list[list[int]]:
        return [[1] * count + [0] * (each - count) for count in counts]

    for place in {passing.index(count) for count in passing}:
        for step in (-1, 1):
            flipped = [*passing]
            flipped[place] += step
            if 0 <= flipped[place] <= each:
                assert greatest_jump(groups(passing), groups(flipped)) <= 2


def greatest_jump(groups: list[list[int]], flipped: list[list[int]]) -> float:
    """How far an end moves, in parts of what Wilson's interval of the examples does."""
    one, other = result_of(groups), result_of(flipped)
    assert one.mean is not None and other.mean is not None
    count = len(groups)
    plain = zip(wilson(one.mean * count, count), wilson(other.mean * count, count), strict=True)
    moved = max(abs(a - b) for a, b in plain)
    ends = [(one.low, other.low), (one.high, other.high)]
    return max(abs((a or 0.0) - (b or 0.0)) - 1e-9 for a, b in ends) / moved


@given(groups_of_rollouts)
def test_the_interval_holds_the_mean_and_has_a_width(groups: list[list[int]]) -> None:
    found = result_of(groups)
    assert found.mean is not None and found.low is not None and found.high is not None
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.high - found.low > 0.01


@given(st.integers(1, 50), st.integers(1, 8), st.floats(0, 1), st.floats(0, 1))
def test_rollouts_are_worth_one_at_least_and_all_at_most(
    groups: int, each: int, share: float, se: float
) -> None:
    worth = effective_number(groups * each, groups, share, se, groups // 2)
    assert 1 <= worth <= groups * each + 1e-9


def test_an_interval_is_named_with_what_it_rests_on() -> None:
    assert interval_name("wilson", 8.312, 5, 15) == "Wilson, n_eff 8.312, 5 examples, 15 rollouts"
    assert interval_name("wilson", 5.0, 5, 5) == "Wilson, 5 examples"
    assert interval_name("t", 4.0, 5, 15) == "t, 4 df, 5 examples, 15 rollouts"
    assert interval_name("anytime", 1.0, 5, 15) == "anytime-valid, the first example in order"
    first = interval_name("anytime", 40.0, 50, 150)
    assert first == "anytime-valid, the first 40 examples in order"

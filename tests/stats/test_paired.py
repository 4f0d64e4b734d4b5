"""Paired differences against numbers that were computed independently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paired_rewards import paired_difference

from tui_eval.stats.paired import holm, mcnemar, newcombe

A = [1.0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
B = [1.0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1]


def test_one_rollout_each_has_newcombes_interval_and_mcnemars_test() -> None:
    found = paired_difference(A, B, single=True)
    assert (found.n, found.mean, found.method, found.test) == (12, 0.25, "newcombe", "mcnemar")
    assert found.se == pytest.approx(0.130558241967, abs=1e-12)
    assert found.p == pytest.approx(0.25)
    swapped = paired_difference(B, A, single=True)
    assert (swapped.mean, swapped.low) == (-0.25, pytest.approx(-(found.high or 0)))


def test_other_values_have_students_interval_and_the_sign_flip_test() -> None:
    first, second = [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3], [1 / 3, 2 / 3, 1 / 3, 1, 2 / 3]
    found = paired_difference(second, first)
    assert (found.method, found.test) == ("t", "sign_flip")
    assert found.mean == pytest.approx(0.2)
    assert found.se == pytest.approx(0.081649658093, abs=1e-12)
    ends = (-0.026695793553, 0.426695793553)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)
    assert found.p == 0.25, "z says .0143"


def test_two_examples_say_little() -> None:
    found = paired_difference([0.12, 0.14], [0.0, 0.0])
    assert (found.low, found.high) == pytest.approx((0.002937952638, 0.257062047362), abs=1e-9)
    assert found.p == 0.5


def test_pass_or_fail_of_several_rollouts_is_not_mcnemars() -> None:
    found = paired_difference(A, B)
    assert (found.method, found.test) == ("t", "sign_flip")


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(("n", "half"), [(5, 0.521823750105), (200, 0.018275340355)])
def test_runs_without_a_difference_have_an_interval_all_the_same(
    single: bool, n: int, half: float
) -> None:
    rewards = [float(place % 3 == 0) for place in range(n)]
    found = paired_difference(rewards, rewards, single=single, scale=1.0)
    assert (found.mean, found.method) == (0.0, "bound")
    assert (found.low, found.high) == pytest.approx((-half, half), abs=1e-9)
    assert found.p == (None if single else 1.0)


def test_differences_that_are_all_equal_have_no_interval_of_no_width() -> None:
    found = paired_difference([0.4, 0.5, 0.6], [0.3, 0.4, 0.5], scale=1.0)
    assert found.low is not None and found.high is not None
    assert found.low < -0.5 and found.high > 0.7
    unknown = paired_difference([4.0, 5.0, 6.0], [3.0, 4.0, 5.0])
    assert (unknown.low, unknown.method, unknown.p) == (None, "none", 0.25)


def test_no_pair_says_nothing_and_one_has_no_interval() -> None:
    assert paired_difference([], []).mean is None
    one = paired_difference([0.3], [0.1], scale=1.0)
    assert (one.mean, one.low, one.p) == (pytest.approx(0.2), None, 1.0)


def test_newcombes_interval() -> None:
    assert newcombe(36, 12, 2, 0) == (
        pytest.approx(0.056929584003, abs=1e-12),
        pytest.approx(0.340427602974, abs=1e-12),
    )
    low, high = newcombe(10, 0, 0, 0)
    assert low < 0 < high


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [
        (10, 2, 0.03857421875),
        (15, 5, 0.041389465332),
        (0, 6, 0.03125),
        (5, 5, 1.0),
        (0, 0, None),
    ],
)
def test_mcnemars_exact_test(b: int, c: int, p: float | None) -> None:
    assert mcnemar(b, c) == (None if p is None else pytest.approx(p, abs=1e-12))


def test_mcnemar_of_many_pairs() -> None:
    assert mcnemar(20_000, 20_000) == 1.0
    assert mcnemar(0, 20_000) == 0.0


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


counts = st.integers(0, 60)


@given(counts, counts, counts, counts)
def test_the_interval_holds_the_difference(a: int, b: int, c: int, d: int) -> None:
    n = a + b + c + d
    if n:
        low, high = newcombe(a, b, c, d)
        assert -1 <= low <= (b - c) / n <= high <= 1

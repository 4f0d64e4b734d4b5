"""pass@k and pass^k against the table and the direct formula."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.passk import RunningPassAtK, ks_up_to, pass_at_k, pass_hat_k


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (3, 1, 2, 2 / 3),
        (4, 2, 2, 5 / 6),
        (10, 3, 5, 11 / 12),
        (5, 3, 3, 1.0),
        (200, 1, 100, 0.5),
        (1000, 7, 100, 0.522822944162),
    ],
)
def test_pass_at_k_is_that_of_the_table(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "c", "k", "expected"), [(4, 2, 2, 1 / 6), (5, 3, 3, 1 / 10)])
def test_pass_hat_k_is_that_of_the_table(n: int, c: int, k: int, expected: float) -> None:
    assert pass_hat_k(n, c, k) == pytest.approx(expected, abs=1e-12)


def filled(counts: list[tuple[int, int]], ks: list[int]) -> RunningPassAtK:
    running = RunningPassAtK(ks)
    for cluster, (n, c) in enumerate(counts):
        for i in range(n):
            running.add(cluster, i < c)
    return running


def test_rates_are_means_over_the_examples() -> None:
    rates = filled([(5, 3), (5, 0), (5, 5), (5, 1)], [1, 2, 3, 4, 5]).result(4)
    assert [rate.any_passes for rate in rates] == pytest.approx([0.45, 0.575, 0.65, 0.7, 0.75])
    assert [rate.all_pass for rate in rates] == pytest.approx([0.45, 0.325, 0.275, 0.25, 0.25])
    assert {rate.left_out for rate in rates} == {0}


def test_which_rollouts_passed_first_does_not_matter() -> None:
    running = RunningPassAtK([2])
    for cluster, group in enumerate([[0, 0, 1], [1, 0, 0]]):
        for passed in group:
            running.add(cluster, bool(passed))
    assert running.result(2)[0].any_passes == pytest.approx(2 / 3)


def test_examples_with_too_few_rollouts_are_left_out_and_counted() -> None:
    rates = filled([(3, 3), (1, 0)], [1, 2]).result(5)
    assert [(rate.k, rate.examples, rate.left_out) for rate in rates] == [(1, 2, 3), (2, 1, 4)]
    assert rates[1].any_passes == 1.0


def test_nothing_is_shown_for_a_k_that_no_example_reaches() -> None:
    assert filled([(1, 1)], [2, 4]).result(1) == []


@pytest.mark.parametrize(
    ("r", "ks"),
    [(0, []), (1, []), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])],
)
def test_ks_are_powers_of_two_and_r(r: int, ks: list[int]) -> None:
    assert ks_up_to(r) == ks


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60))
def test_running_rates_are_those_of_the_direct_formula(rollouts: list[tuple[int, bool]]) -> None:
    ks = [1, 2, 3, 4, 8]
    running = RunningPassAtK(ks)
    counts: dict[int, tuple[int, int]] = {}
    for cluster, passed in rollouts:
        running.add(cluster, passed)
        n, c = counts.get(cluster, (0, 0))
        counts[cluster] = (n + 1, c + passed)
    rates = {rate.k: rate for rate in running.result(6)}
    for k in ks:
        enough = [(n, c) for n, c in counts.values() if n >= k]
        if not enough:
            assert k not in rates
            continue
        any_passes = sum(1 - comb(n - c, k) / comb(n, k) for n, c in enough) / len(enough)
        all_pass = sum(comb(c, k) / comb(n, k) for n, c in enough) / len(enough)
        assert rates[k].any_passes == pytest.approx(any_passes, abs=1e-9)
        assert rates[k].all_pass == pytest.approx(all_pass, abs=1e-9)
        assert (rates[k].examples, rates[k].left_out) == (len(enough), 6 - len(enough))

"""Verdicts, and what it takes to come to one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from paired_rewards import paired_difference

from tui_eval.stats.paired import PairedDifference
from tui_eval.stats.power import examples_needed, smallest_difference
from tui_eval.stats.verdict import Direction, Verdict, judge


def judged(first: list[float], second: list[float]) -> Verdict:
    found = paired_difference(first, second, scale=1.0)
    return judge(found, found.p)


UP = [0.5, 0.52, 0.48, 0.55, 0.51, 0.49, 0.53, 0.5]


def test_a_clear_difference_goes_one_way() -> None:
    assert judged(UP, [0.0] * 8).direction is Direction.HIGHER
    assert judged([0.0] * 8, UP).direction is Direction.LOWER
    assert judged(UP, [0.0] * 8).is_conclusive


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_than_six_examples_show_nothing(n: int) -> None:
    found = judged(UP[:n], [0.0] * n)
    assert found.direction is Direction.INCONCLUSIVE
    assert found.why == "fewer than 6 shared examples"
    assert found.detectable is None, "no difference is great enough for so few"
    assert found.needed == 6


def test_no_shared_example_shows_nothing() -> None:
    assert judged([], []).why == "no example is shared"


def test_p_and_interval_have_to_agree() -> None:
    disagreeing = PairedDifference(9, 0.1, 0.04, 0.01, 0.19, "t", 0.06, "sign_flip")
    assert judge(disagreeing, 0.06).why == "p and interval disagree"
    raised = PairedDifference(9, 0.1, 0.04, 0.01, 0.19, "t", 0.02, "sign_flip")
    assert judge(raised, 0.24).why == "within chance, as so many are looked at"
    equal = judged([0.1] * 6, [0.0] * 6)
    assert equal.why == "p and interval disagree", "sign-flip p = 1/32, but the bound is wide"


def test_without_an_interval_there_is_no_verdict() -> None:
    found = paired_difference([5.0] * 8, [4.0] * 8)
    assert (found.low, found.p) == (None, 2 / 2**8)
    assert judge(found, found.p).why == "all differences are equal, so there is no interval"


def test_what_is_inconclusive_says_what_it_takes() -> None:
    first = [0.9, 0.1, 0.5, 0.7, 0.3, 0.6, 0.2, 0.8]
    found = judged(first, [0.5] * 8)
    assert found.why == "within chance"
    sd = float(np.std(np.array(first) - 0.5, ddof=1))
    assert found.detectable == pytest.approx(smallest_difference(sd, 8))
    assert found.needed is not None and found.needed > 8


def test_no_number_of_examples_is_named_for_what_rounding_left() -> None:
    found = judged([0.1, 0.2, 0.3] * 3, [0.3, 0.1, 0.2] * 3)
    assert (found.why, found.needed) == ("within chance", None)


def test_runs_that_are_equal_everywhere_could_still_differ_by_so_much() -> None:
    found = judged([0.5] * 200, [0.5] * 200)
    assert (found.direction, found.needed) == (Direction.INCONCLUSIVE, None)
    assert found.detectable == pytest.approx(0.018275340355)


@pytest.mark.parametrize(("sd", "n"), [(0.3, 6), (0.5, 50), (0.41, 2500)])
def test_the_smallest_difference_is_that_of_two_quantiles(sd: float, n: int) -> None:
    t = scipy.stats.t(n - 1)
    expected = (t.ppf(0.975) + t.ppf(0.8)) * sd / math.sqrt(n)
    assert smallest_difference(sd, n) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("sd", "difference"), [(0.3, 0.5), (0.5, 0.03), (0.5, -0.03), (0.2, 0.1)])
def test_so_many_examples_are_just_enough(sd: float, difference: float) -> None:
    n = examples_needed(sd, difference)
    assert n is not None
    assert (smallest_difference(sd, n) or math.inf) <= abs(difference)
    assert n == 6 or (smallest_difference(sd, n - 1) or math.inf) > abs(difference)


def test_no_number_of_examples_shows_no_difference() -> None:
    assert examples_needed(0.5, 0.0) is None
    assert examples_needed(math.inf, 0.1) is None
    assert examples_needed(0.5, 1e-17) is None, "what rounding left of equal means"

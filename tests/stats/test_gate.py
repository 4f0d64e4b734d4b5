"""Whether a run is no worse than another, and how often a gate passes what is unchanged."""

from __future__ import annotations

import math

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from paired_rewards import paired_difference

from tui_eval.exit_codes import ExitCode
from tui_eval.stats.paired import PairedDifference, newcombe
from tui_eval.stats.student_t import noncentral_t_exceeds
from tui_eval.stats.verdict import examples_for_gate, gate_power, judge_gate

PASSED, FAILED = ExitCode.FINISHED, ExitCode.FAILED
INCONCLUSIVE, NOTHING = ExitCode.INCONCLUSIVE, ExitCode.NOTHING_MEASURED


def difference(low: float, high: float, n: int = 50, p: float | None = 0.5) -> PairedDifference:
    return PairedDifference(n, (low + high) / 2, (high - low) / 4, low, high, "t", p, "sign_flip")


@pytest.mark.parametrize(
    ("low", "high", "code"),
    [
        (-0.0199, 0.1, PASSED),
        (-0.019, -0.001, PASSED),
        (0.1, 0.2, PASSED),
        (-0.02, 0.1, INCONCLUSIVE),
        (-0.1, 0.1, INCONCLUSIVE),
        (-0.1, 0.0, INCONCLUSIVE),
        (-0.1, -0.001, FAILED),
        (-0.9, -0.5, FAILED),
    ],
)
def test_the_interval_alone_decides(low: float, high: float, code: ExitCode) -> None:
    for p in (1e-9, 0.5, None):
        assert judge_gate(difference(low, high, p=p)).code is code
    assert judge_gate(difference(-high, -low), lower_is_better=True).code is code
    assert judge_gate(difference(low, high, 6)).code is code
    assert judge_gate(difference(low, high, 5)).code is INCONCLUSIVE


def test_what_is_surely_worse_than_the_margin_is_reported_as_that() -> None:
    assert judge_gate(difference(-0.3, -0.021)).why == "worse by more than the margin"
    unsure = "worse, and perhaps by more than the margin"
    assert judge_gate(difference(-0.3, -0.019)).why == unsure


def test_no_pair_is_nothing_measured() -> None:
    assert judge_gate(paired_difference([], [])).code is NOTHING


def test_equal_runs_pass_where_so_many_examples_exclude_the_margin() -> None:
    few, many = ([0.5] * n for n in (182, 183))
    equal = paired_difference(few, few, scale=1.0)
    found = judge_gate(equal, 0.02)
    assert (found.code, found.power, examples_for_gate(equal, 0.02)) == (INCONCLUSIVE, 0.0, 183)
    equal = paired_difference(many, many, scale=1.0)
    found = judge_gate(equal, 0.02)
    assert (found.code, found.power, examples_for_gate(equal, 0.02)) == (PASSED, 1.0, None)


def test_equal_differences_of_no_known_range_show_nothing() -> None:
    equal = paired_difference([4.0] * 9, [4.0] * 9)
    found = judge_gate(equal, 0.02)
    assert (found.code, found.power, examples_for_gate(equal, 0.02)) == (INCONCLUSIVE, None, None)


@pytest.mark.parametrize("df", [5, 6, 11, 49, 199, 2499])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0, 2.0, 3.7, 9.0, 40.0])
def test_noncentral_t_is_that_of_scipy(df: int, shift: float) -> None:
    for t in (scipy.stats.t.ppf(0.975, df), 1.0):
        expected = float(scipy.stats.nct.sf(t, df, shift))
        assert noncentral_t_exceeds(t, df, shift) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "margin"), [(6, 0.3), (50, 0.02), (50, 0.1), (200, 0.02), (200, 0)])
def test_power_is_that_of_noncentral_t(n: int, margin: float) -> None:
    differences = [0.1 * (place % 5 - 2) for place in range(n)]
    found = paired_difference(differences, [0.0] * n)
    assert found.se is not None
    t = scipy.stats.t.ppf(0.975, n - 1)
    expected = float(scipy.stats.nct.sf(t, n - 1, margin / found.se))
    assert gate_power(found, margin) == pytest.approx(expected, abs=1e-9)


def pairs(both: int, first: int, second: int, neither: int) -> PairedDifference:
    one = [1.0] * both + [1.0] * first + [0.0] * second + [0.0] * neither
    other = [1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither
    return paired_difference(one, other, single=True, scale=1.0)


counts = st.integers(0, 40)


@given(counts, counts, counts, counts, st.floats(0, 0.3))
def test_power_of_one_rollout_each_is_a_coin_for_each_pair_that_disagrees(
    both: int, first: int, second: int, neither: int, margin: float
) -> None:
    differing = first + second
    if both + differing + neither < 6 or not differing:
        return
    coins = scipy.stats.binom(differing, 0.5)
    expected = sum(
        coins.pmf(k)
        for k in range(differing + 1)
        if newcombe(both, k, differing - k, neither)[0] > -margin
    )
    found = pairs(both, first, second, neither)
    assert gate_power(found, margin) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.2])
def test_so_many_examples_pass_what_is_unchanged_eight_times_of_ten(margin: float) -> None:
    differences = [(-1) ** place * 0.1 * (place % 7) for place in range(40)]
    found = paired_difference(differences, [0.0] * 40)
    needed = examples_for_gate(found, margin)
    if needed is None:
        assert (gate_power(found, margin) or 0) >= 0.8
        return
    assert found.se is not None
    for n, enough in ((needed, True), (needed - 1, False)):
        shift = margin * math.sqrt(n / 40) / found.se
        power = float(scipy.stats.nct.sf(scipy.stats.t.ppf(0.975, n - 1), n - 1, shift))
        assert (power >= 0.8) is enough


def test_what_is_needed_is_reported_for_one_rollout_each_and_for_few_examples() -> None:
    found = pairs(30, 5, 5, 10)
    needed = examples_for_gate(found, 0.02)
    assert needed is not None and needed > 1000
    assert (gate_power(pairs(*(count * needed // 50 for count in (30, 5, 5, 10))), 0.02) or 0) > 0.7
    few = paired_difference([0.1, 0.2, 0.3], [0.2, 0.2, 0.2], scale=1.0)
    assert gate_power(few, 0.02) == 0.0
    assert (examples_for_gate(few, 10.0), examples_for_gate(few, 0.0)) == (6, None)

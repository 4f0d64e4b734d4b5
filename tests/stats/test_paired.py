"""Paired differences against numbers that were computed independently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.stats.paired import holm, mcnemar, newcombe, paired_difference

A = [1.0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
B = [1.0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1]


def test_a_paired_difference_is_surer_than_an_unpaired_one() -> None:
    found = paired_difference(A, B)
    assert (found.n, found.mean, found.method) == (12, 0.25, "newcombe")
    assert found.se == pytest.approx(0.130558241967, abs=1e-12)
    assert found.p == pytest.approx(0.25)
    swapped = paired_difference(B, A)
    assert (swapped.mean, swapped.low) == (-0.25, pytest.approx(-(found.high or 0)))


def test_other_values_have_the_interval_of_their_mean() -> None:
    found = paired_difference([0.5, 1.0, 0.25], [0.0, 0.75, 0.5])
    assert found.method == "paired" and found.se is not None and found.mean is not None
    assert found.low == pytest.approx(found.mean - 1.959963984540054 * found.se)
    counts = paired_difference(A, B, is_share=False)
    assert counts.method == "paired" and counts.se == pytest.approx(0.130558241967, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "mean", "method"),
    [([], [], None, "none"), ([0.3], [0.1], 0.2, "none"), ([0.3, 0.4], [0.1, 0.2], 0.2, "none")],
)
def test_what_says_nothing_has_no_interval(
    first: list[float], second: list[float], mean: float | None, method: str
) -> None:
    found = paired_difference(first, second)
    assert (found.method, found.low, found.p) == (method, None, None)
    assert found.mean == (None if mean is None else pytest.approx(mean))


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

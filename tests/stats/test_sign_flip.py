"""The sign-flip test against scipy's, and the ways it takes for many examples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.stats.sign_flip import sign_flips


def sign_flip(differences: np.ndarray) -> tuple[float, bool]:
    return sign_flips([differences])[0]


def by_hand(differences: list[float]) -> float:
    seen = abs(sum(differences))
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(one >= seen - 1e-12 for one in sums) / len(sums)


@given(st.lists(st.sampled_from([0.0, 0.1, 0.25, -0.25, 1 / 3, -1.0, 0.7]), max_size=9))
def test_few_differences_are_flipped_in_every_way(differences: list[float]) -> None:
    p, exact = sign_flip(np.array(differences))
    assert exact
    assert p == pytest.approx(by_hand(differences) if differences else 1.0)


def test_differences_of_0_are_not_flipped() -> None:
    p, exact = sign_flip(np.array([0.0] * 500 + [0.5] * 6))
    assert (p, exact) == (2 / 64, True)


@pytest.mark.slow
@settings(deadline=None, max_examples=4)
@given(st.integers(0, 1000), st.booleans())
def test_many_differences_come_near_to_the_exact_chance(seed: int, continuous: bool) -> None:
    rng = np.random.default_rng(seed)
    differences = rng.normal(0.1, 1, 17) if continuous else rng.integers(-3, 5, 17) / 4
    differences[differences == 0] = 0.25
    p, exact = sign_flip(differences)
    expected = scipy.stats.permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        n_resamples=2**17,
        vectorized=True,
        batch=2**14,
    ).pvalue
    assert not exact
    assert p == pytest.approx(expected, abs=0.008)


def test_the_same_differences_have_the_same_chance_twice() -> None:
    differences = np.random.default_rng(3).normal(size=40)
    assert sign_flip(differences) == sign_flip(differences)


def test_a_chance_is_never_0() -> None:
    p, _ = sign_flip(np.linspace(1, 2, 300))
    assert p == pytest.approx(1 / 100_001)


def test_numbers_that_are_tested_together_have_the_chances_that_each_has_alone() -> None:
    rng = np.random.default_rng(4)
    tests = [
        rng.normal(0.2, 1, 90),
        rng.integers(-4, 5, 90) / 4,
        np.array([]),
        np.array([0.5] * 6),
        rng.integers(-1, 2, 2000) / 1.0,
        rng.normal(0.1, 1, 400),
    ]
    together = sign_flips(tests)
    alone = [sign_flip(one) for one in tests]
    assert [exact for _, exact in together] == [exact for _, exact in alone]
    assert [exact for _, exact in alone] == [False, False, True, True, False, False]
    assert [p for p, _ in together] == pytest.approx([p for p, _ in alone], abs=0.006)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1 / 3, 1e12, 1e90])
def test_differences_that_are_as_great_by_another_way_count(scale: float) -> None:
    sizes = np.array([1, 2, 3] * 10 + [4, 5, 6, 7]) * scale
    seen = sizes * np.where(np.arange(len(sizes)) % 3 == 0, -1, 1)
    rng = np.random.default_rng(0)
    sums = np.abs((1 - 2 * rng.integers(0, 2, (100_000, 34))) @ (sizes / scale))
    expected = np.mean(sums >= abs(seen.sum() / scale) - 0.5)
    assert sign_flip(seen)[0] == pytest.approx(expected, abs=0.006)

"""Counts of tokens of each kind, added and taken away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui_eval.token_kinds import KINDS, from_names, in_words, minus, named, plus

COUNT = st.integers(0, 10**9)
counts = st.one_of(st.just(()), st.tuples(*[COUNT] * len(KINDS)))


@given(counts, counts, counts)
def test_sums_do_not_depend_on_their_order(one, other, third) -> None:  # type: ignore[no-untyped-def]
    assert plus(one, other) == plus(other, one)
    assert named(plus(plus(one, other), third)) == named(plus(one, plus(other, third)))


@given(counts, counts)
def test_what_was_added_can_be_taken_away(one, other) -> None:  # type: ignore[no-untyped-def]
    assert named(minus(plus(one, other), other)) == named(one)


@given(counts)
def test_names_lead_back_to_the_counts(one) -> None:  # type: ignore[no-untyped-def]
    assert named(from_names(named(one))) == named(one)


def test_names_of_nonsense_are_left_out() -> None:
    assert from_names({"cached": -1, "reasoning": "9", "audio_input": 1e3, "other": 5}) == ()
    assert from_names("cached") == from_names(None) == ()
    assert in_words({"cached": 1200, "reasoning": 3}, "{:,}".format) == (
        "1,200 cached, 3 of thoughts"
    )

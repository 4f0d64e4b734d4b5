"""Expressions that are looked for in many texts at once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.fold.lower_texts import PIECE, LowerTexts, stays_within_lines
from tui_eval.fold.query.patterns import Matcher

ATOMS = (
    *("a", "b", "é", ".", " ", "^", "$", r"\b", r"\d", r"\w", r"\S", r"\.", r"\[", "[ab]", "[a-z]"),
    *("[]b]", r"[\d.]", "(?:a|b)", "(a)", "a|", "b?", "a*", ".+", "x{2}", "[ -~]"),
    *("[^a]", r"\s", r"\W", r"\D", r"\B", r"\A", r"\Z", "\n", r"\n", r"[\s]", "[\t-a]", r"[\b-a]"),
)
SOURCES = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map("".join)
TEXTS = st.lists(st.text("ab1 .[é\n\r\x0b\x85x", max_size=5), min_size=1, max_size=12)


def lower(texts: list[str]) -> LowerTexts:
    made = LowerTexts()
    made.extend(texts)
    return made


@pytest.mark.process
@given(SOURCES, TEXTS)
def test_many_texts_at_once_come_to_the_same_as_each_by_itself(
    source: str, texts: list[str]
) -> None:
    many = (["-"] * PIECE + texts + ["-"] * PIECE * 2)[: 3 * PIECE + 7]
    flags = re.MULTILINE if source == source.lower() else re.MULTILINE | re.IGNORECASE
    with Matcher(source, short=True) as matcher:
        one_by_one = [re.search(source, text, flags) is not None for text in many]
        assert matcher.found_in(lower(many)) == one_by_one


@pytest.mark.parametrize("source", ["fox", r"qu[a-e]rtz \d", "^the.*fox$", r"\[x\]|\bb", "[]a]"])
def test_what_can_match_no_line_break_is_looked_for_at_once(source: str) -> None:
    assert stays_within_lines(source)


@pytest.mark.parametrize(
    "source", ["a\nb", r"a\n", r"\s", r"\W", "[^a]", r"[a\D]", r"\Aa", r"\x0a", "[\t-a]", r"\012"]
)
def test_what_might_match_a_line_break_is_not(source: str) -> None:
    assert not stays_within_lines(source)


def test_texts_that_came_later_are_in_pieces_too() -> None:
    texts = lower(["b"] * (PIECE - 1))
    assert not texts.pieces()
    texts += ["a", "c"]
    with Matcher("[ac]", short=True) as matcher:
        assert matcher.found_in(texts) == [False] * (PIECE - 1) + [True, True]
    assert len(texts.pieces()) == 1

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tui_eval as vf
from tui_eval.parsers.answers import extract_boxed_answer, extract_hash_answer

plain = st.text(alphabet="ab 1\n$^_", max_size=8)
balanced = st.recursive(
    plain | st.sampled_from([r"\{\}", r"\\", r"\frac"]),
    lambda inner: st.lists(inner, max_size=3).map("".join) | inner.map("{{{}}}".format),
    max_leaves=8,
)


@given(plain, balanced, plain)
def test_the_box_is_found_whole_wherever_it_stands(before, inside, after):
    text = f"{before}\\boxed{{{inside}}}{after}"
    assert extract_boxed_answer(text) == extract_boxed_answer(text, strict=True) == inside


@given(balanced, plain, balanced)
def test_the_last_box_counts(first, between, last):
    text = f"\\boxed{{{first}}}{between}\\boxed{{{last}}}"
    assert extract_boxed_answer(text) == last


@given(st.text())
def test_a_text_without_a_box_is_its_own_answer(text):
    text = text.replace("\\boxed{", "")
    assert extract_boxed_answer(text) == text
    assert extract_boxed_answer(text, strict=True) == ""


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{ 42 } or so", " 42 "),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\{1, 2)}", r"\boxed{\{1, 2)}"),
        (r"\boxed{a \\}", r"a \\"),
        (r"\boxed{\boxed{7}}", "7"),
        (r"\boxed{}", ""),
        (r"\boxed{1} then \boxed{2", r"\boxed{1} then \boxed{2"),
        (r"\boxed{1\}", "1\\"),
        (r"\boxed 3", r"\boxed 3"),
    ],
)
def test_boxes_as_models_write_them(text, answer):
    assert extract_boxed_answer(text) == answer


def test_an_unclosed_box_is_nothing_if_strict():
    assert extract_boxed_answer(r"\boxed{1} then \boxed{2", strict=True) == ""


@given(
    st.text().filter(lambda text: "#" not in text), st.text().filter(lambda text: "#" not in text)
)
def test_what_stands_after_the_hashes(before, answer):
    assert extract_hash_answer(f"{before}####{answer}") == answer.strip()
    assert extract_hash_answer(f"{before}#### {answer}#### 9") == answer.strip()
    assert extract_hash_answer(before) == before


def test_both_are_public():
    assert vf.extract_boxed_answer is extract_boxed_answer
    assert vf.Parser(vf.extract_hash_answer).parse("so\n#### 12") == "12"

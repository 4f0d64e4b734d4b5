from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tui_eval as vf

words = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]))
said = st.text(alphabet="</think> \nab", max_size=60) | st.lists(
    st.sampled_from(["<think>", "</think>", "x", " "]), max_size=8
).map("".join)


@pytest.fixture(autouse=True)
def only_errors(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="tui_eval.parsers")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>one</think>\n 42 ", "42"),
        ("one</think>42", "42"),
        ("<think>a</think>b<think>c</think> d", "d"),
        ("<think>a</think>", ""),
        ("42", ""),
        ("<think>never ends", ""),
        ("", ""),
    ],
)
def test_the_answer_stands_after_the_last_thought(text, answer):
    parser = vf.ThinkParser()
    assert parser.parse(text) == answer
    assert parser.parse_answer(text) == answer


def test_extract_fn_gets_what_stands_after_the_thoughts():
    parser = vf.ThinkParser(extract_fn=lambda text: text.split("=")[-1])
    assert parser.parse("<think>x=1</think> so x=2") == "2"


@pytest.mark.parametrize("as_object", [False, True])
def test_the_answer_of_a_conversation_is_that_of_its_last_assistant_message(as_object):
    talk = [
        {"role": "assistant", "content": "<think>a</think>first"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "<think>b</think>"},
                {"type": "text", "text": "2"},
            ],
        },
        {"role": "user", "content": "</think>not me"},
    ]
    if as_object:
        talk = vf.messages.to_messages(talk)
    parser = vf.ThinkParser()
    assert parser.parse_answer(talk) == "2"
    assert parser.parse_answer(talk[2:]) is None
    assert parser.parse_answer([{"role": "assistant", "content": None}]) == ""
    assert parser.get_format_reward_func()(completion=talk) == 1.0


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("<think>a</think>b", 1.0),
        (" \n<think>a</think>b", 1.0),
        ("<think></think>b", 1.0),
        ("<think>a</think>", 0.0),
        ("<think>a</think> \n", 1.0),
        ("so <think>a</think>b", 0.0),
        ("<think>a</think>b</think>c", 0.0),
        ("<think><think>a</think>b", 0.0),
        ("a</think>b", 0.0),
        ("b", 0.0),
        ("", 0.0),
    ],
)
def test_format_scores(text, score):
    reward = vf.ThinkParser().get_format_reward_func()
    assert reward.__name__ == "format_reward_func"
    assert reward(completion=[vf.AssistantMessage(content=text)]) == score


def test_format_scores_are_averaged_over_the_models_messages():
    reward = vf.ThinkParser().get_format_reward_func()
    good = vf.AssistantMessage(content="<think>a</think>b")
    talk = [good, vf.UserMessage(content="x"), {"role": "assistant", "content": None}]
    assert reward(completion=talk) == 0.5
    assert reward(completion=[]) == 0.0


def test_making_one_warns_that_texts_without_thoughts_have_no_answer(caplog):
    caplog.set_level(logging.WARNING, logger="tui_eval.parsers")
    vf.ThinkParser()
    assert "MaybeThinkParser" in caplog.text


@given(words, words.map(str.strip))
def test_what_was_said_after_the_thoughts_comes_back(thoughts, answer):
    text = f"<think>{thoughts}</think>\n{answer}"
    parser = vf.ThinkParser()
    assert parser.parse(text) == answer
    score = parser.get_format_reward_func()(completion=[vf.AssistantMessage(content=text)])
    assert score == 1.0


@given(said)
def test_any_text_has_an_answer_without_tags_and_a_score(text):
    parser = vf.ThinkParser()
    answer = parser.parse(text)
    assert answer in text
    assert "</think>" not in answer
    score = parser.get_format_reward_func()(completion=[{"role": "assistant", "content": text}])
    assert score in (0.0, 1.0)
    if score == 1.0:
        assert text.strip().startswith("<think>") and not text.endswith("</think>")

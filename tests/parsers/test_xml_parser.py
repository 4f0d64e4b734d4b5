from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.messages import AssistantMessage, ToolMessage, UserMessage, to_messages
from tui_eval.parsers.parser import Parser
from tui_eval.parsers.xml_parser import XMLParser

names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
# Values as `format` can carry them: stripped, and without anything that looks like a tag.
values = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"])).map(str.strip)
said = st.text(alphabet="<>/answerthink \n12", max_size=80)


def test_plain_parser_takes_the_last_assistant_message():
    parser = Parser(str.upper)
    assert parser.parse_answer("yes") == "YES"
    talk = to_messages(
        [
            {"role": "assistant", "content": "one"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "t"}, {"type": "text", "text": "wo"}],
            },
            {"role": "user", "content": "go on"},
        ]
    )
    assert parser.parse_answer(talk) == "T WO"
    assert parser.parse_answer([{"role": "assistant", "content": None}]) == ""
    assert parser.parse_answer([UserMessage(content="hi")]) is None
    reward = parser.get_format_reward_func()
    assert reward(completion=talk) == 1.0
    assert reward.__name__ == "format_reward_func"


def test_messages_by_role_from_objects_and_dicts():
    talk = [
        {"role": "system", "content": "s"},
        UserMessage(content="u"),
        AssistantMessage(content="a"),
        ToolMessage(tool_call_id="1", content="t"),
    ]
    parser = Parser()
    assert [m["content"] for m in parser.get_system_messages(talk)] == ["s"]
    assert [m["content"] for m in parser.get_user_messages(talk)] == ["u"]
    assert [m["content"] for m in parser.get_assistant_messages(talk)] == ["a"]
    assert [m["content"] for m in parser.get_tool_messages(talk)] == ["t"]


def test_fields_alternatives_and_missing_ones():
    parser = XMLParser(["think", ("answer", "code")])
    found = parser.parse("<think>\n a \n</think><code>1</code><code>2</code>")
    assert (found.think, found.answer, found.code) == ("a", None, "1")
    assert parser.parse("<code>1</code><code> 2 </code>", last=True).code == "2"
    assert parser.parse("<code> 2 </code>", strip=False).code == "2"
    assert parser.get_fields() == ["think", "answer"]
    assert parser.get_format_str() == (
        "<think>\n...\n</think>\n<[ answer | code ]>\n...\n</[ answer | code ]>"
    )


def test_parse_answer_prefers_the_last_in_a_text_and_the_first_in_the_newest_message():
    parser = XMLParser(["answer"], extract_fn=lambda text: f"[{text}]")
    twice = "<answer>1</answer><answer>2</answer>"
    assert parser.parse_answer(twice) == "2"
    talk = [
        AssistantMessage(content="<answer>0</answer>"),
        AssistantMessage(content=twice),
        AssistantMessage(content="no tags"),
    ]
    assert parser.parse_answer(talk) == "1"
    assert parser.parse_answer(talk[2:]) is None
    assert XMLParser(["think"]).parse_answer("<think>x</think>") is None


def test_format_refuses_missing_fields():
    parser = XMLParser(["think", ("answer", "code")])
    assert parser.format(think="a", code=1) == "<think>\na\n</think>\n<answer>\n1\n</answer>"
    with pytest.raises(ValueError, match="Missing value for field 'answer'"):
        parser.format(think="a")
    with pytest.raises(ValueError, match="Missing value for field 'answer'"):
        parser.format(think="a", anwser="b", answer=None)
    assert parser.format(think="a", code=1, other=2) == parser.format(think="a", answer=1)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ([()], ValueError),
        ([1], TypeError),
        ("answer", TypeError),
        ([("a", 2)], TypeError),
        (["a", ("a", "b")], ValueError),
    ],
)
def test_wrong_fields_are_refused(fields, error):
    with pytest.raises(error):
        XMLParser(fields)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("plain text", 0.2),
        ("<reasoning>a</reasoning>", 0.6),
        ("<reasoning>a</reasoning> <answer>b</answer>", 1.0),
        ("so: <reasoning>a</reasoning> <answer>b</answer>.", 0.6),
        ("<reasoning>a</reasoning> <answer>b", 0.8),
        ("<reasoning>a <answer>b", 0.4),
        ("", 0.2),
    ],
)
def test_format_scores(text, score):
    reward = XMLParser(["reasoning", "answer"]).get_format_reward_func()
    assert reward(completion=[AssistantMessage(content=text)]) == pytest.approx(score)


def test_format_scores_are_averaged_over_messages():
    reward = XMLParser(["answer"]).get_format_reward_func()
    talk = [
        AssistantMessage(content="<answer>1</answer>"),
        UserMessage(content="x"),
        AssistantMessage(content="y"),
    ]
    assert reward(completion=talk) == pytest.approx(0.6)
    assert reward(completion=[]) == 0.0


@given(st.lists(names, min_size=1, max_size=4, unique=True), st.data())
def test_what_was_formatted_is_parsed_back(fields, data):
    parser = XMLParser(fields, answer_field=fields[-1])
    given_values = {name: data.draw(values) for name in fields}
    text = parser.format(**given_values)
    assert vars(parser.parse(text)) == given_values
    assert parser.parse_answer(text) == given_values[fields[-1]]
    reward = parser.get_format_reward_func()
    assert reward(completion=[AssistantMessage(content=text)]) == pytest.approx(1.0)


@given(said)
def test_any_text_gets_a_score_between_bounds_and_only_what_it_says(text):
    parser = XMLParser(["think", "answer"])
    score = parser.get_format_reward_func()(completion=[AssistantMessage(content=text)])
    assert 0.2 <= score <= 1.0 + 1e-9
    for last in (False, True):
        answer = parser.parse(text, strip=False, last=last).answer
        if answer is None:
            assert re.search("<answer>.*</answer>", text, re.DOTALL) is None
        else:
            assert f"<answer>{answer}</answer>" in text


contents = (
    st.none()
    | said
    | st.lists(said | st.fixed_dictionaries({"type": st.just("text"), "text": said}), max_size=3)
)


@given(st.lists(contents, max_size=3), st.booleans())
def test_any_conversation_has_an_answer_or_none_and_a_score(said_contents, as_object):
    talk: list[Any] = [{"role": "assistant", "content": content} for content in said_contents]
    if as_object:
        talk = [AssistantMessage.model_construct(**message) for message in talk]
    parser = XMLParser(["think", "answer"])
    answer = parser.parse_answer(talk)
    assert answer is None or "</answer>" not in answer
    score = parser.get_format_reward_func()(completion=talk)
    assert (score == 0.0) == (talk == [])


def test_tags_left_open_a_million_times_are_read_in_linear_time():
    parser = XMLParser(["answer"])
    text = "<answer>" * 1_000_000  # hours, where each one looks at all that follow
    assert parser.parse(text).answer is None
    assert parser.parse(text + "</answer>").answer == "<answer>" * 999_999

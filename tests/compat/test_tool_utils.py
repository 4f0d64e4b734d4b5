from __future__ import annotations

import pytest

from tui_eval.compat.verifiers.async_utils import maybe_await
from tui_eval.compat.verifiers.message_utils import (
    convert_func_to_tool_def,
    is_valid_tool_content_parts,
)
from tui_eval.messages import AssistantMessage, TextMessage, UserMessage, normalize_messages


async def test_a_function_is_called_whether_it_is_async_or_not() -> None:
    async def later(a: int, b: int = 1) -> int:
        return a + b

    assert await maybe_await(later, 1, b=4) == 5
    assert await maybe_await(max, 2, 7) == 7
    with pytest.raises(ZeroDivisionError):
        await maybe_await(lambda: 1 / 0)


def test_a_function_becomes_a_tool() -> None:
    def look(place: str) -> str:
        """Looks somewhere."""
        return place

    tool = convert_func_to_tool_def(look)
    assert (tool.name, tool.description) == ("look", "Looks somewhere.")
    assert tool.parameters["properties"]["place"]["type"] == "string"


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ([{"type": "text", "text": "a"}], True),
        ([{"type": "image_url", "image_url": {"url": "data:,"}}], True),
        ([{"type": "video"}], False),
        (["text"], False),
        ("text", False),
        (None, False),
    ],
)
def test_parts_of_a_tools_result(value: object, valid: bool) -> None:
    assert is_valid_tool_content_parts(value) is valid


def test_messages_in_any_shape_are_one_conversation() -> None:
    said = AssistantMessage(content="yes")
    read = normalize_messages([{"role": "user", "content": "well?"}, said, "text"])
    assert read == [UserMessage(content="well?"), said, TextMessage(content="text")]
    assert read[1] is said
    assert normalize_messages("alone") == [TextMessage(content="alone")]
    assert normalize_messages({"role": "user", "content": "x"}) == [UserMessage(content="x")]
    assert normalize_messages([]) == []


@pytest.mark.parametrize(
    ("messages", "kind", "text"),
    [
        (3, TypeError, "reset: a list of messages, not int"),
        ([{"role": "user", "content": "x"}, 3], TypeError, r"reset\[1\]: a message is an object"),
        ([{"content": "x"}], ValueError, r"reset\[0\]: a message has the role None"),
        ([{"role": "user", "content": 5}], ValueError, r"reset\[0\]: .*UserMessage"),
    ],
)
def test_an_error_names_the_field_and_the_place(
    messages: object, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        normalize_messages(messages, field_name="reset")

"""Messages in every shape that people and saved runs write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui_eval.messages import (
    AssistantMessage,
    ImageUrlContentPart,
    ImageUrlSource,
    TextContentPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
    to_message,
    to_messages,
    to_tool_call,
)

CALL = {"id": "1", "name": "add", "arguments": '{"x": 1}'}


@pytest.mark.parametrize(
    "call",
    [
        CALL,
        json.dumps(CALL),
        {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}},
        {**CALL, "arguments": {"x": 1}},
        ToolCall(id="1", name="add", arguments='{"x": 1}'),
    ],
)
def test_tool_calls_of_any_shape_are_the_same(call: Any) -> None:
    found = to_tool_call(call)
    assert (found.id, found.name, json.loads(found.arguments)) == ("1", "add", {"x": 1})


@pytest.mark.parametrize("call", ["no json", "[1]", 7, None])
def test_what_is_no_tool_call_is_refused(call: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        to_tool_call(call)


def test_a_saved_assistant_message_is_read_back() -> None:
    message = to_message(
        {"role": "assistant", "content": "", "tool_calls": [json.dumps(CALL)], "extra": 1}
    )
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls is not None and message.tool_calls[0].name == "add"
    assert message["extra"] == 1


def test_a_string_is_text_without_a_role() -> None:
    assert [(m.role, m.content) for m in to_messages("Once upon")] == [("text", "Once upon")]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (3, TypeError, "not int"),
        ({"content": "x"}, ValueError, "role None"),
        ({"role": "robot", "content": "x"}, ValueError, "'robot'"),
        ({"role": "tool", "content": "x"}, ValueError, "tool_call_id"),
    ],
)
def test_what_is_no_message_is_refused_with_the_reason(
    value: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        to_message(value)


def test_messages_read_like_dicts() -> None:
    message = UserMessage(content="Hi")
    assert message["content"] == message.get("content") == "Hi"
    assert message.get("name", "nobody") == "nobody"
    assert "role" in message and "name" not in message
    assert message == {"role": "user", "content": "Hi"}
    with pytest.raises(KeyError):
        message["name"]


def test_the_text_of_parts_shows_images_and_sound_by_their_kind() -> None:
    parts = [
        TextContentPart(text="Look at"),
        ImageUrlContentPart(image_url=ImageUrlSource(url="data:image/png;base64,AAAA")),
        {"type": "input_audio", "input_audio": {}},
        {"type": "video"},
        "end",
    ]
    assert text_of(parts) == "Look at [image] [audio] [video] end"
    assert text_of(None) == ""
    assert (text_of(5), text_of([5, "a"])) == ("5", "5 a")  # what no model takes is shown as it is


def test_a_tool_message_keeps_its_call() -> None:
    message = to_message({"role": "tool", "tool_call_id": "1", "content": "2"})
    assert isinstance(message, ToolMessage)
    assert (message.tool_call_id, message.content) == ("1", "2")


def test_a_tool_call_keeps_what_a_provider_put_beside_it() -> None:
    signed = {"google": {"thought_signature": "abc"}}
    wire = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": "{}"},
        "extra_content": signed,
    }
    call = to_tool_call(wire)
    assert (call.id, call.name, call.arguments) == ("c1", "add", "{}")
    assert call["extra_content"] == signed
    assert to_tool_call(call.model_dump())["extra_content"] == signed


def test_a_tool_call_also_reads_in_the_shape_of_the_wire() -> None:
    call = ToolCall(id="1", name="add", arguments='{"x": 1}')
    assert call["function"]["name"] == call.function.name == "add"
    assert call.get("function", {}).get("arguments") == '{"x": 1}'
    assert call.model_dump() == {"id": "1", "name": "add", "arguments": '{"x": 1}'}
    assert to_tool_call(call.model_dump()) == call

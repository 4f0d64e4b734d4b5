"""Requests to a chat completions endpoint, and its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drawn_conversations import assistants, systems, tool_results, users
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from tui_eval.clients.sdk_client import encode_body
from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.chat_answer import ChatAnswer, check_chat_answer, from_chat_answer
from tui_eval.clients.wire.chat_request import to_chat_body, to_chat_messages, to_chat_tool
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import (
    AssistantMessage,
    InputAudioContentPart,
    InputAudioSource,
    TextContentPart,
    TextMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    to_message,
)
from tui_eval.types import Response, Tool

PAYLOADS = Path(__file__).parent / "payloads"
conversations = st.lists(
    systems
    | users
    | assistants(with_blocks=False)
    | tool_results.filter(lambda m: not images_of(m)),
    min_size=1,
    max_size=6,
)


def images_of(message: Any) -> list[Any]:
    parts = message.content if isinstance(message.content, list) else []
    return [part for part in parts if to_dict(part)["type"] == "image_url"]


def to_dict(part: Any) -> dict[str, Any]:
    return part if isinstance(part, dict) else part.model_dump()


def read(name: str) -> Response:
    answer = decode_answer((PAYLOADS / name).read_bytes(), ChatAnswer)
    check_chat_answer(answer)
    return from_chat_answer(answer)


def answer_with(message: dict[str, Any], reason: str | None = "stop") -> ChatAnswer:
    payload = {"id": "x", "choices": [{"message": message, "finish_reason": reason}]}
    answer: ChatAnswer = decode_answer(json.dumps(payload).encode(), ChatAnswer)
    return answer


@given(conversations)
@settings(max_examples=60, deadline=None)
def test_a_conversation_survives_the_wire_and_the_way_back(conversation: list[Any]) -> None:
    wire, _ = to_chat_messages(conversation)

    back = [to_message(message) for message in json.loads(encode_body(wire))]

    sent = [UserMessage(content=m.content) if m.role == "text" else m for m in conversation]
    for message in sent:
        message.content = message.content or ""
    assert [m.model_dump() for m in back] == [m.model_dump() for m in sent]


def test_images_of_tool_results_are_shown_by_the_user_after_the_last_of_them() -> None:
    def image(name: str) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{name}"}}

    look = {"type": "text", "text": "look"}
    calls = [ToolCall(id=id, name="f", arguments="{}") for id in "abc"]
    conversation = [
        UserMessage(content="q"),
        AssistantMessage(tool_calls=calls),
        ToolMessage(tool_call_id="a", content=[look, image("eA==")]),
        ToolMessage(tool_call_id="b", content="plain"),
        ToolMessage(tool_call_id="c", content=[image("eQ==")]),
        AssistantMessage(content="seen"),
        ToolMessage(tool_call_id="d", content=[image("eg==")]),
    ]

    wire, _ = to_chat_messages(conversation)

    assert [message["role"] for message in wire] == [
        *("user", "assistant", "tool", "tool", "tool", "user", "assistant", "tool", "user")
    ]
    assert [message["content"] for message in wire[2:5]] == [[look], "plain", "[image]"]
    assert wire[5]["content"] == [
        {"type": "text", "text": "Images in the result of a:"},
        image("eA=="),
        {"type": "text", "text": "Images in the result of c:"},
        image("eQ=="),
    ]
    assert wire[8]["content"][1] == image("eg==")


@given(assistants(with_blocks=False))
@settings(max_examples=60, deadline=None)
def test_an_answer_read_and_sent_again_is_the_same_on_the_wire(message: AssistantMessage) -> None:
    wire = to_chat_messages([message])[0][0]

    answer = answer_with(wire)
    check_chat_answer(answer)

    assert to_chat_messages([from_chat_answer(answer).message])[0][0] == wire


def test_nothing_is_sent_that_says_nothing() -> None:
    message = AssistantMessage(tool_calls=[ToolCall(id="a", name="f", arguments="{}")])

    wire, _ = to_chat_messages([message, AssistantMessage(content="hi")])

    assert wire == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "assistant", "content": "hi"},
    ]


def test_empty_parts_of_a_content_are_left_out() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    empty = TextContentPart(text="")

    wire, _ = to_chat_messages([UserMessage(content=[empty, image]), UserMessage(content=[empty])])

    assert [message["content"] for message in wire] == [[image], ""]


def test_text_messages_are_sent_as_the_users() -> None:
    assert to_chat_messages([TextMessage(content="hi")])[0] == [{"role": "user", "content": "hi"}]


def test_dicts_are_taken_for_messages() -> None:
    assert to_chat_messages([{"role": "user", "content": "hi"}])[0] == [
        {"role": "user", "content": "hi"}
    ]


def test_sound_in_the_prompt_requests_an_answer_in_text() -> None:
    part = InputAudioContentPart(input_audio=InputAudioSource(data="AAAA", format="wav"))

    wire, beside = to_chat_messages([UserMessage(content=[part])])
    assert beside == {} and to_chat_body(wire, "m", {}, None)[0]["modalities"] == ["text"]


def test_the_body_carries_sampling_arguments_as_the_endpoint_names_them() -> None:
    body, options = to_chat_body(
        [],
        "m",
        {
            "max_tokens": 5,
            "temperature": None,
            "enable_thinking": False,
            "extra_body": {"top_k": 3},
            "extra_headers": {"x-a": "b"},
        },
        None,
    )

    assert body == {
        "model": "m",
        "messages": [],
        "n": 1,
        "stream": False,
        "max_tokens": 5,
        "enable_thinking": False,
        "top_k": 3,
    }
    assert options.extra_headers == {"x-a": "b"}


@pytest.mark.parametrize(
    ("requested", "limits"),
    [
        ({"max_tokens": 5}, {"max_completion_tokens": 5}),
        ({"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
        ({"max_tokens": 5, "max_completion_tokens": 6}, {"max_completion_tokens": 6}),
    ],
)
def test_the_limit_has_the_endpoints_name(
    requested: dict[str, int], limits: dict[str, int]
) -> None:
    body, _ = to_chat_body([], "m", requested, None, "max_completion_tokens")

    assert {key: value for key, value in body.items() if key.startswith("max_")} == limits


def test_a_limit_goes_out_under_the_name_that_was_typed() -> None:
    assert to_chat_body([], "m", {"max_completion_tokens": 5}, None)[0] == {
        "model": "m",
        "messages": [],
        "n": 1,
        "stream": False,
        "max_completion_tokens": 5,
    }


def test_a_number_of_answers_set_to_nothing_is_not_sent() -> None:
    assert "n" not in to_chat_body([], "m", {"n": None}, None)[0]


def test_the_extra_body_goes_out_under_its_own_names() -> None:
    sampling = {"temperature": 1.0, "extra_body": {"max_tokens": 5, "temperature": None}}

    assert to_chat_body([], "m", sampling, None)[0] == {
        "model": "m",
        "messages": [],
        "n": 1,
        "stream": False,
        "max_tokens": 5,
        "temperature": None,
    }


@pytest.mark.parametrize("argument", [{"n": 4}, {"stream": True}])
def test_several_answers_and_streams_are_refused_by_name(argument: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(argument))}`"):
        to_chat_body([], "m", argument, None)


def test_strictness_of_a_tool_is_sent_only_where_it_is_set() -> None:
    tool = Tool(name="f", description="d", parameters={"type": "object"})

    loose = to_chat_tool(tool)
    tool.strict = True

    assert loose["function"] == {"name": "f", "description": "d", "parameters": {"type": "object"}}
    assert to_chat_tool(tool)["function"]["strict"] is True


def test_lone_surrogates_are_escaped_instead_of_failing() -> None:
    assert json.loads(encode_body({"a": "\ud800"})) == {"a": "\ud800"}


def test_reads_reasoning_of_vllm() -> None:
    response = read("vllm_reasoning.json")

    assert response.message.reasoning_content == "2 + 2 = 4"
    assert (response.message.content, response.message.tool_calls) == ("Four.", None)
    assert response.created == 1755000001


def test_reads_tool_calls_and_usage_of_openai() -> None:
    response = read("openai_tool_calls.json")

    calls = response.message.tool_calls or []
    assert [(c.id, c.name, json.loads(c.arguments)) for c in calls] == [
        ("call_a", "add", {"x": 1, "y": 2}),
        ("call_b", "add", {"x": 3, "y": 4}),
    ]
    assert response.message.finish_reason == "tool_calls"
    assert response.usage == {
        "prompt_tokens": 82,
        "reasoning_tokens": 9,
        "completion_tokens": 17,
        "total_tokens": 99,
        "cached_prompt_tokens": 0,
        "cache_write_tokens": 0,
        "audio_prompt_tokens": 0,
        "audio_completion_tokens": 0,
    }


def test_an_answer_of_reasoning_alone_is_an_answer() -> None:
    response = read("openrouter_truncated.json")

    assert response.message.reasoning_content == "Let me think"
    assert (response.message.finish_reason, response.message.is_truncated) == ("length", True)


def test_reasoning_that_came_encrypted_is_an_answer_too() -> None:
    details = [{"type": "reasoning.encrypted", "data": "Zm9v"}]
    answer = answer_with({"content": "", "reasoning_details": details}, "length")
    check_chat_answer(answer)

    message = from_chat_answer(answer).message

    assert (message.reasoning_content, message.thinking_blocks) == (None, details)
    assert to_chat_messages([message])[0][0]["reasoning_details"] == details


@pytest.mark.parametrize("name", ["vllm_reasoning.json", "openai_tool_calls.json"])
def test_the_sdks_own_objects_are_read_alike(name: str) -> None:
    native = ChatCompletion.model_validate_json((PAYLOADS / name).read_bytes())

    check_chat_answer(native)

    assert from_chat_answer(native).model_dump() == read(name).model_dump()


def test_an_error_in_a_successful_answer_is_reported() -> None:
    with pytest.raises(InvalidModelResponseError, match="Provider returned error"):
        read("openrouter_error.json")


@pytest.mark.parametrize("count", [0, 2])
def test_anything_but_one_choice_is_invalid(count: int) -> None:
    choices = [{"message": {"content": "a"}, "finish_reason": "stop"}] * count
    answer = decode_answer(json.dumps({"id": "x", "choices": choices}).encode(), ChatAnswer)

    with pytest.raises(InvalidModelResponseError, match=f"{count} choices"):
        check_chat_answer(answer)


@pytest.mark.parametrize("content", [None, ""])
def test_an_answer_that_is_empty_and_does_not_say_why_is_an_error(content: str | None) -> None:
    with pytest.raises(EmptyModelResponseError, match="finish reason: None"):
        check_chat_answer(answer_with({"content": content}, None))


def test_arguments_that_are_an_object_become_json_text() -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}

    calls = from_chat_answer(answer_with({"tool_calls": [call]})).message.tool_calls or []

    assert (json.loads(calls[0].arguments), bool(calls[0].id)) == ({"a": 1}, True)


def test_other_finish_reasons_are_none() -> None:
    response = from_chat_answer(answer_with({"content": "a"}, "bored"))

    assert (response.message.finish_reason, response.message.is_truncated) == (None, False)


def test_a_refusal_is_the_text_of_the_answer() -> None:
    answer = answer_with({"content": None, "refusal": "No."})
    check_chat_answer(answer)

    assert from_chat_answer(answer).message.content == "No."


def test_not_a_number_and_broken_surrogates_are_read_the_slow_way() -> None:
    content = b'{"id":"x","choices":[{"message":{"content":"\\ud800"},"logprobs":{"a":NaN}}]}'

    answer = decode_answer(content, ChatAnswer)

    assert from_chat_answer(answer).message.content == "\ud800"

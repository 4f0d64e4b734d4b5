"""Requests to a messages endpoint, and its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drawn_conversations import (
    assistants,
    names,
    objects,
    systems,
    texts,
    thinking,
    tool_results,
    users,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy_modules import LazyModule

from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.anthropic_answer import AnthropicAnswer
from tui_eval.clients.wire.anthropic_translation import (
    check_anthropic_answer,
    from_anthropic_answer,
    to_anthropic_body,
    to_anthropic_messages,
    to_anthropic_tool,
)
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import (
    AssistantMessage,
    InputAudioContentPart,
    InputAudioSource,
    SystemMessage,
    TextContentPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tui_eval.types import Tool

anthropic = LazyModule("anthropic")

PAYLOADS = Path(__file__).parent / "payloads"


def answer_with(content: list[dict[str, Any]], reason: str | None = "end_turn") -> AnthropicAnswer:
    payload = {"id": "msg_1", "model": "m", "content": content, "stop_reason": reason}
    answer: AnthropicAnswer = decode_answer(json.dumps(payload).encode(), AnthropicAnswer)
    return answer


def texts_of(content: Any) -> list[str]:
    """Every text and image of a content, ours or theirs, in order."""
    if isinstance(content, str):
        return [content]
    found = []
    for part in content:
        if part["type"] == "text":
            found.append(part["text"])
        elif part["type"] == "image":
            source = part["source"]
            data = f"data:{source.get('media_type')};base64,{source.get('data')}"
            found.append(source.get("url") or data)
        else:
            found.append(part["image_url"]["url"])
    return found


@given(assistants(with_blocks=True))
@settings(max_examples=60, deadline=None)
def test_an_assistant_message_survives_the_wire_and_the_way_back(
    message: AssistantMessage,
) -> None:
    wire, _ = to_anthropic_messages([message])
    answer = answer_with(json.loads(json.dumps(wire[0]["content"])))

    check_anthropic_answer(answer)
    back = from_anthropic_answer(answer).message

    assert (back.content or None, back.thinking_blocks) == (
        message.content,
        message.thinking_blocks,
    )
    assert [(c.id, c.name, json.loads(c.arguments)) for c in back.tool_calls or ()] == [
        (c.id, c.name, json.loads(c.arguments)) for c in message.tool_calls or ()
    ]


@given(st.lists(systems | users | tool_results, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_nothing_that_others_say_is_lost(conversation: list[Any]) -> None:
    wire, extra = to_anthropic_messages(conversation)

    said, results = [], []
    for message in wire:
        content = message["content"]
        if not isinstance(content, str) and content[0]["type"] == "tool_result":
            results += [(block["tool_use_id"], texts_of(block["content"])) for block in content]
        else:
            said.append(texts_of(content))
    assert said == [texts_of(m.content) for m in conversation if m.role in ("user", "text")]
    assert results == [
        (m.tool_call_id, texts_of(m.content)) for m in conversation if m.role == "tool"
    ]
    systems_said = [m.content for m in conversation if m.role == "system"]
    assert extra.get("system", "") == "\n\n".join(systems_said)


said = st.one_of(
    thinking,
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": texts}),
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": names, "name": names, "input": objects}
    ),
)


@given(st.lists(said, max_size=6))
@settings(max_examples=100, deadline=None)
def test_what_a_model_said_with_thinking_between_goes_back_as_it_came(
    drawn: list[dict[str, Any]],
) -> None:
    text = {"type": "text", "text": "a"}
    between = {"type": "thinking", "thinking": "b", "signature": "c"}
    last = {"type": "tool_use", "id": "last", "name": "f", "input": {}}
    blocks = [text, between, *drawn, last]
    message = from_anthropic_answer(answer_with(blocks)).message
    saved = AssistantMessage(**json.loads(message.model_dump_json()))

    wire, _ = to_anthropic_messages([saved])

    assert wire[0]["content"] == blocks


def test_thinking_that_led_to_nothing_is_not_replayed() -> None:
    block = {"type": "thinking", "thinking": "a", "signature": "s"}
    cut_off = from_anthropic_answer(answer_with([block], "max_tokens")).message

    wire, _ = to_anthropic_messages([UserMessage(content="x"), cut_off])

    assert cut_off.thinking_blocks == [block]
    assert wire == [{"role": "user", "content": "x"}]


def test_results_of_one_turn_become_one_message() -> None:
    wire, _ = to_anthropic_messages(
        [
            ToolMessage(tool_call_id="a", content="1"),
            ToolMessage(tool_call_id="b", content="2"),
            UserMessage(content="go on"),
        ]
    )

    assert wire == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
            ],
        },
        {"role": "user", "content": "go on"},
    ]


def test_results_of_different_turns_stay_apart_and_in_order() -> None:
    wire, _ = to_anthropic_messages(
        [
            ToolMessage(tool_call_id="a", content="1"),
            AssistantMessage(content="next"),
            ToolMessage(tool_call_id="b", content="2"),
        ]
    )

    assert [message["role"] for message in wire] == ["user", "assistant", "user"]


def test_system_messages_are_taken_out_wherever_they_stand() -> None:
    wire, extra = to_anthropic_messages(
        [SystemMessage(content="a"), UserMessage(content="b"), SystemMessage(content="c")]
    )

    assert (wire, extra) == ([{"role": "user", "content": "b"}], {"system": "a\n\nc"})


def test_sound_is_named_because_it_cannot_be_sent() -> None:
    part = InputAudioContentPart(input_audio=InputAudioSource(data="AAAA", format="wav"))

    wire, _ = to_anthropic_messages([UserMessage(content=[part])])

    assert wire[0]["content"] == [{"type": "text", "text": "[audio]"}]


@pytest.mark.parametrize("arguments", ["{broken", "[1]"])
def test_arguments_that_are_no_object_are_kept_as_text(arguments: str) -> None:
    call = ToolCall(id="a", name="f", arguments=arguments)

    wire, _ = to_anthropic_messages([AssistantMessage(tool_calls=[call])])

    assert wire[0]["content"][0]["input"] == {"unparsed_arguments": arguments}


BLANK: list[Any] = ["", " \n", [], [TextContentPart(text="\t")]]


@pytest.mark.parametrize("blank", BLANK)
def test_text_without_a_letter_is_never_sent(blank: Any) -> None:
    call = ToolCall(id="a", name="f", arguments="{}")
    conversation = [
        SystemMessage(content=blank),
        UserMessage(content=blank),
        AssistantMessage(content=blank, tool_calls=[call]),
        ToolMessage(tool_call_id="a", content=blank),
        AssistantMessage(content=blank),
        UserMessage(content="go on"),
    ]

    wire, beside = to_anthropic_messages(conversation)

    assert beside == {}
    assert wire == [
        {"role": "user", "content": "(no content)"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
        {"role": "user", "content": "go on"},
    ]


def test_blank_text_before_a_call_is_left_out_of_thinking_that_continues() -> None:
    blocks = [
        {"type": "text", "characters": 2},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "a"},
    ]
    call = ToolCall(id="a", name="f", arguments="{}")

    wire, _ = to_anthropic_messages(
        [AssistantMessage(content="\n\n", thinking_blocks=blocks, tool_calls=[call])]
    )

    assert [block["type"] for block in wire[0]["content"]] == ["thinking", "tool_use"]


def test_sampling_arguments_get_anthropics_names() -> None:
    body, _ = to_anthropic_body(
        [],
        "m",
        {
            "max_completion_tokens": 9,
            "stop": "END",
            "n": 1,
            "top_p": None,
            "tool_choice": "required",
        },
        None,
    )

    assert body == {
        "model": "m",
        "messages": [],
        "stream": False,
        "max_tokens": 9,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "any"},
    }


def test_the_extra_body_goes_out_under_its_own_names() -> None:
    body, _ = to_anthropic_body([], "m", {"extra_body": {"stop": "x", "max_tokens": 5}}, None)

    assert body == {"model": "m", "messages": [], "stream": False, "max_tokens": 5, "stop": "x"}


def test_without_a_limit_there_is_one() -> None:
    assert to_anthropic_body([], "m", {"max_tokens": None}, None)[0]["max_tokens"] == 4096


def test_a_tool_is_described_by_its_input() -> None:
    tool = Tool(name="f", description="d", parameters={"type": "object"})

    assert to_anthropic_tool(tool) == {
        "name": "f",
        "description": "d",
        "input_schema": {"type": "object"},
    }


@pytest.mark.parametrize("sdk", [False, True])
def test_reads_thinking_tool_calls_and_usage(sdk: bool) -> None:
    content = (PAYLOADS / "anthropic_thinking.json").read_bytes()
    answer = (
        anthropic.types.Message.model_validate_json(content)
        if sdk
        else decode_answer(content, AnthropicAnswer)
    )
    check_anthropic_answer(answer)

    response = from_anthropic_answer(answer)

    message = response.message
    assert (message.content, message.reasoning_content) == ("I'll look.", "I need the weather.")
    assert message.thinking_blocks == [
        {"type": "thinking", "thinking": "I need the weather.", "signature": "EqQBCg=="},
        {"type": "redacted_thinking", "data": "EmwKAhgB"},
    ]
    assert [(c.id, c.name, c.arguments) for c in message.tool_calls or ()] == [
        ("toolu_01", "get_weather", '{"city": "Oslo"}')
    ]
    assert message.finish_reason == "tool_calls"
    assert response.usage == {
        "prompt_tokens": 115,
        "reasoning_tokens": 0,
        "completion_tokens": 40,
        "total_tokens": 155,
        "cached_prompt_tokens": 100,
        "cache_write_tokens": 5,
        "audio_prompt_tokens": 0,
        "audio_completion_tokens": 0,
    }


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", ("stop", False)),
        ("stop_sequence", ("stop", False)),
        ("max_tokens", ("length", True)),
        ("refusal", ("refusal", False)),
        ("pause_turn", (None, False)),
        ("model_context_window_exceeded", ("length", True)),
    ],
)
def test_stop_reasons_get_our_names(reason: str, expected: tuple[str | None, bool]) -> None:
    message = from_anthropic_answer(answer_with([{"type": "text", "text": "a"}], reason)).message

    assert (message.finish_reason, message.is_truncated) == expected


def test_an_answer_without_content_is_invalid_and_an_empty_one_without_reason_empty() -> None:
    with pytest.raises(InvalidModelResponseError, match="content"):
        check_anthropic_answer(AnthropicAnswer())
    with pytest.raises(EmptyModelResponseError, match="stop reason: None"):
        check_anthropic_answer(answer_with([], None))


@pytest.mark.parametrize(
    ("given", "arguments"), [('{"x": 1}', '{"x": 1}'), ("", "{}"), (None, "{}"), ({}, "{}")]
)
def test_arguments_that_come_as_text_are_taken_as_they_are(given: Any, arguments: str) -> None:
    answer = answer_with([{"type": "tool_use", "id": "a", "name": "f", "input": given}])
    (call,) = from_anthropic_answer(answer).message.tool_calls or ()
    assert call.arguments == arguments

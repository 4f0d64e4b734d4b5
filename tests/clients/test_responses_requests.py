"""Requests to a responses endpoint: parts, tools and sampling arguments."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_conversations import systems
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.clients.wire.responses_items import to_items
from tui_eval.clients.wire.responses_translation import to_responses_body, to_responses_tool
from tui_eval.messages import (
    InputAudioContentPart,
    InputAudioSource,
    SystemMessage,
    TextMessage,
    ToolMessage,
    UserMessage,
)
from tui_eval.provider_profiles import ENCRYPTED
from tui_eval.types import Tool


@given(st.lists(systems, min_size=1, max_size=3))
@settings(max_examples=20, deadline=None)
def test_system_messages_that_stand_first_are_instructions(prompt: list[Any]) -> None:
    items, extra = to_items([*prompt, UserMessage(content="hi"), SystemMessage(content="later")])

    assert extra == {"instructions": "\n\n".join(message.content for message in prompt)}
    assert items == [{"role": "user", "content": "hi"}, {"role": "system", "content": "later"}]


def test_parts_get_the_protocols_types() -> None:
    sound = InputAudioContentPart(input_audio=InputAudioSource(data="AAAA", format="wav"))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iV", "detail": "low"}}
    result = ToolMessage(tool_call_id="a", content=[{"type": "text", "text": "t"}])

    items, _ = to_items([UserMessage(content=[image, sound]), result, TextMessage(content="x")])

    assert items == [
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": "data:image/png;base64,iV", "detail": "low"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "t"}],
        },
        {"role": "user", "content": "x"},
    ]


@pytest.mark.parametrize(("strict", "sent"), [(None, False), (True, True), (False, False)])
def test_a_tool_is_flat_and_says_whether_it_is_strict(strict: bool | None, sent: bool) -> None:
    tool = Tool(name="f", description="d", parameters={"type": "object"}, strict=strict)

    assert to_responses_tool(tool) == {
        "type": "function",
        "name": "f",
        "description": "d",
        "parameters": {"type": "object"},
        "strict": sent,
    }


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"max_tokens": 5, "n": 1, "temperature": None}, {"max_output_tokens": 5}),
        ({"max_completion_tokens": 6}, {"max_output_tokens": 6}),
        ({"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
        (
            {"reasoning_effort": "low", "reasoning": {"summary": "auto"}},
            {"reasoning": {"effort": "low", "summary": "auto"}},
        ),
        (
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
            {"tool_choice": {"type": "function", "name": "f"}},
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
            {"text": {"format": {"type": "json_schema", "name": "n"}}},
        ),
        (
            {"response_format": {"type": "json_object"}},
            {"text": {"format": {"type": "json_object"}}},
        ),
        (
            {"logprobs": True, "top_logprobs": 2},
            {"top_logprobs": 2, "include": ["message.output_text.logprobs", ENCRYPTED]},
        ),
        ({"logprobs": False}, {}),
        (
            {"enable_thinking": False, "extra_body": {"top_k": 1}},
            {"enable_thinking": False, "top_k": 1},
        ),
    ],
)
def test_sampling_arguments_get_the_protocols_names(
    sampling: dict[str, Any], expected: dict[str, Any]
) -> None:
    body, _ = to_responses_body([], "m", sampling, None)

    usual = {"store": False, "stream": False, "include": [ENCRYPTED]}
    assert body == {"model": "m", "input": [], **usual, **expected}


@pytest.mark.parametrize(
    ("sampling", "include"),
    [
        ({}, [ENCRYPTED]),
        ({"include": [ENCRYPTED]}, [ENCRYPTED]),
        ({"include": ["file_search_call.results"]}, ["file_search_call.results", ENCRYPTED]),
        ({"include": None}, None),
        ({"extra_body": {"include": []}}, []),
        ({"store": True}, None),
    ],
)
def test_encrypted_reasoning_is_requested_where_nothing_is_stored(
    sampling: dict[str, Any], include: Any
) -> None:
    body, _ = to_responses_body([], "m", sampling, None)
    assert body.get("include") == include
    other, _ = to_responses_body([], "m", sampling, None, encrypted_reasoning=False)
    typed = {**sampling, **sampling.get("extra_body", {})}
    assert other.get("include") == typed.get("include")


def test_reasoning_goes_by_id_only_where_it_is_stored() -> None:
    by_id = {"type": "reasoning", "id": "rs_1", "summary": []}
    whole = {**by_id, "encrypted_content": "x"}
    open_text = {**by_id, "content": [{"type": "reasoning_text", "text": "t"}]}
    prompt = [by_id, whole, open_text]

    assert to_responses_body(prompt, "m", {}, None)[0]["input"] == [whole, open_text]
    assert to_responses_body(prompt, "m", {"store": True}, None)[0]["input"] == prompt


def test_tools_of_the_provider_stand_beside_ours() -> None:
    search, ours = {"type": "web_search"}, {"type": "function", "name": "f"}

    assert to_responses_body([], "m", {"tools": [search]}, [ours])[0]["tools"] == [search, ours]

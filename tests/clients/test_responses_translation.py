"""What goes to a responses endpoint and what is read from its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drawn_conversations import assistants, names, objects, systems, texts, tool_results, users
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import Response as SdkResponse

from tui_eval.clients.sdk_client import encode_body
from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.failed_answers import ReportedError
from tui_eval.clients.wire.responses_answer import ResponsesAnswer
from tui_eval.clients.wire.responses_items import from_items, to_items
from tui_eval.clients.wire.responses_translation import (
    check_responses_answer,
    from_responses_answer,
    to_responses_body,
    to_responses_tool,
)
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import (
    AssistantMessage,
    InputAudioContentPart,
    InputAudioSource,
    SystemMessage,
    TextMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    to_message,
)
from tui_eval.provider_profiles import ENCRYPTED
from tui_eval.types import Response, Tool

PAYLOADS = Path(__file__).parent / "payloads"

reasonings = st.fixed_dictionaries(
    {
        "type": st.just("reasoning"),
        "id": names,
        "summary": st.lists(
            st.fixed_dictionaries({"type": st.just("summary_text"), "text": texts}), max_size=2
        ),
        "encrypted_content": texts,
    }
)
searches = st.fixed_dictionaries(
    {"type": st.just("web_search_call"), "id": names, "action": st.just({"query": "x"})}
)
model_calls = st.fixed_dictionaries(
    {
        "type": st.just("function_call"),
        "id": names,
        "call_id": names,
        "name": names,
        "arguments": objects.map(json.dumps),
        "status": st.just("completed"),
    }
)
spoken = st.builds(
    lambda text, more: {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        **more,
    },
    texts,
    st.sampled_from([{}, {"phase": "commentary"}, {"phase": "final_answer"}]),
)
outputs = st.lists(reasonings | searches | model_calls | spoken, max_size=6).map(
    lambda items: [*items, {"type": "web_search_call", "id": "ws_last"}]
)


def answer_with(output: list[Any], **fields: Any) -> ResponsesAnswer:
    payload = {"id": "x", "status": "completed", "output": output, **fields}
    answer: ResponsesAnswer = decode_answer(json.dumps(payload).encode(), ResponsesAnswer)
    return answer


def text_item(text: str, kind: str = "output_text") -> dict[str, Any]:
    part = {"type": kind, "refusal" if kind == "refusal" else "text": text}
    return {"type": "message", "role": "assistant", "content": [part]}


def read(name: str, sdk: bool = False) -> Response:
    content = (PAYLOADS / name).read_bytes()
    answer: Any = (
        SdkResponse.model_validate_json(content) if sdk else decode_answer(content, ResponsesAnswer)
    )
    check_responses_answer(answer)
    return from_responses_answer(answer)


def back_to_messages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Input items as messages, tool calls gathered into the assistant's."""
    found: list[dict[str, Any]] = []
    for item in items:
        if item.get("type") == "function_call_output":
            said = {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        elif item.get("type") == "function_call":
            call = {"id": item["call_id"], "name": item["name"], "arguments": item["arguments"]}
            if found and found[-1]["role"] == "assistant":
                found[-1].setdefault("tool_calls", []).append(call)
                continue
            said = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            said = {"role": item["role"], "content": item["content"]}
        if isinstance(said["content"], list):
            said["content"] = [part_back(part) for part in said["content"]]
        found.append(said)
    return found


def part_back(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "input_image":
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return {"type": "text", "text": part["text"]}


@given(st.lists(users | assistants(with_blocks=False) | tool_results, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_conversation_survives_the_wire_and_the_way_back(conversation: list[Any]) -> None:
    # Two answers in a row cannot be told apart on the wire, and do not occur.
    alternating = [
        message
        for place, message in enumerate(conversation)
        if not (place and message.role == "assistant" == conversation[place - 1].role)
    ]
    items, extra = to_items(alternating)

    back = [to_message(message) for message in back_to_messages(json.loads(encode_body(items)))]

    sent = [UserMessage(content=m.content) if m.role == "text" else m for m in alternating]
    for message in sent:
        if isinstance(message, AssistantMessage):
            message.reasoning_content = None  # without items it is another provider's
    assert [m.model_dump() for m in back] == [m.model_dump() for m in sent]
    assert extra == {}


@given(outputs)
@settings(max_examples=150, deadline=None)
def test_what_a_model_said_goes_back_item_by_item_as_it_came(output: list[Any]) -> None:
    message = AssistantMessage(**from_items(json.loads(json.dumps(output))))

    saved = AssistantMessage(**json.loads(message.model_dump_json()))

    assert to_items([message])[0] == output
    assert to_items([saved])[0] == output


@given(outputs, texts)
@settings(max_examples=60, deadline=None)
def test_an_edited_text_is_replayed_as_edited(output: list[Any], text: str) -> None:
    message = AssistantMessage(**from_items(output))
    message.content = text

    items, _ = to_items([message])

    said = [
        part["text"]
        for item in items
        if item["type"] == "message"
        for part in (
            [{"text": item["content"]}] if isinstance(item["content"], str) else item["content"]
        )
    ]
    assert "".join(said) == text


def test_a_removed_call_is_not_replayed() -> None:
    message = read("openai_responses_reasoning.json").message
    message.tool_calls = message.tool_calls[1:] if message.tool_calls else None

    items, _ = to_items([message])

    assert [item.get("call_id") for item in items if item["type"] == "function_call"] == ["call_b"]


def test_an_answer_of_text_and_calls_alone_needs_no_blocks() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}

    fields = from_items([text_item("hi"), call])

    assert fields == {
        "content": "hi",
        "reasoning_content": None,
        "thinking_blocks": None,
        "tool_calls": [ToolCall(id="a", name="f", arguments="{}")],
    }


def test_reasoning_that_led_to_nothing_is_not_replayed() -> None:
    message = read("openai_responses_incomplete.json").message

    assert message.thinking_blocks is not None
    assert to_items([UserMessage(content="a"), message, UserMessage(content="b")])[0] == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


def test_blocks_of_other_protocols_stay_behind() -> None:
    message = AssistantMessage(
        content="hi",
        thinking_blocks=[
            {"type": "thinking", "thinking": "a", "signature": "b"},
            {"type": "redacted_thinking", "data": "c"},
            {"type": "reasoning.text", "text": "d"},
        ],
    )

    assert to_items([message])[0] == [{"type": "message", "role": "assistant", "content": "hi"}]


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
def test_encrypted_reasoning_is_asked_for_where_nothing_is_stored(
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


@pytest.mark.parametrize("sdk", [False, True])
def test_reads_reasoning_calls_and_usage_of_openai(sdk: bool) -> None:
    response = read("openai_responses_reasoning.json", sdk)

    message = response.message
    assert message.content == "I'll look."
    assert message.reasoning_content == "**Looking up the weather**\n\nTwo cities."
    assert [(c.id, c.name, c.arguments) for c in message.tool_calls or ()] == [
        ("call_a", "get_weather", '{"city":"Oslo"}'),
        ("call_b", "get_weather", '{"city":"Bergen"}'),
    ]
    assert (message.finish_reason, message.is_truncated) == ("tool_calls", False)
    assert (response.id, response.created) == ("resp_0888a46c", 1762941294)
    assert response.usage == {
        "prompt_tokens": 81,
        "reasoning_tokens": 64,
        "completion_tokens": 75,
        "total_tokens": 156,
        "cached_prompt_tokens": 0,
        "cache_write_tokens": 0,
        "audio_prompt_tokens": 0,
        "audio_completion_tokens": 0,
    }


@pytest.mark.parametrize("sdk", [False, True])
def test_a_recorded_answer_goes_back_in_its_order(sdk: bool) -> None:
    recorded = json.loads((PAYLOADS / "openai_responses_reasoning.json").read_bytes())["output"]
    recorded[1]["content"][0].pop("logprobs")

    items, _ = to_items([read("openai_responses_reasoning.json", sdk).message])

    assert items == recorded


def test_arguments_that_are_an_object_become_json_text() -> None:
    calls = read("aihubmix_responses_call.json").message.tool_calls or []

    assert [(c.id, json.loads(c.arguments)) for c in calls] == [
        ("call_PFtW", {"expression": "25*4"})
    ]


def test_an_answer_cut_off_within_its_reasoning_is_truncated_and_no_error() -> None:
    message = read("openai_responses_incomplete.json").message

    assert (message.content, message.finish_reason, message.is_truncated) == ("", "length", True)


def test_an_answer_that_a_filter_stopped_is_not_truncated() -> None:
    fields = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}

    message = from_responses_answer(answer_with([text_item("a")], **fields)).message

    assert (message.finish_reason, message.is_truncated) == ("content_filter", False)


def test_a_refusal_is_the_text_of_the_answer() -> None:
    answer = answer_with([text_item("No.", "refusal")])
    check_responses_answer(answer)

    assert from_responses_answer(answer).message.content == "No."


def test_reasoning_in_the_open_is_read() -> None:
    item = {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "2+2"}]}

    message = from_responses_answer(answer_with([item, text_item("4")])).message

    assert (message.reasoning_content, message.content) == ("2+2", "4")


def test_log_probabilities_are_kept_in_the_shape_of_a_chat() -> None:
    item = text_item("Hi")
    item["content"][0]["logprobs"] = [{"token": "Hi", "logprob": -0.5, "top_logprobs": []}]

    message = from_responses_answer(answer_with([item])).message

    assert message.get("logprobs") == {
        "content": [{"token": "Hi", "logprob": -0.5, "top_logprobs": []}]
    }


def test_a_failed_response_tells_why() -> None:
    for sdk in (False, True):
        kind = ReportedError if sdk else InvalidModelResponseError
        with pytest.raises(kind, match="failed to generate a response"):
            read("openai_responses_failed.json", sdk)


def test_a_response_that_is_not_done_is_invalid() -> None:
    with pytest.raises(InvalidModelResponseError, match="not done: its status is 'queued'"):
        check_responses_answer(answer_with([], status="queued"))


@pytest.mark.parametrize("output", [[], [text_item("")], [{"type": "message", "content": None}]])
def test_a_response_with_nothing_in_it_that_has_no_status_is_empty(output: list[Any]) -> None:
    check_responses_answer(answer_with(output))
    with pytest.raises(EmptyModelResponseError):
        check_responses_answer(answer_with(output, status=None))

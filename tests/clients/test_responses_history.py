"""A conversation goes to a responses endpoint and comes back as it was."""

from __future__ import annotations

import json
from typing import Any

from drawn_conversations import assistants, names, objects, texts, tool_results, users
from hypothesis import given, settings
from hypothesis import strategies as st
from responses_payloads import read, text_item

from tui_eval.clients.sdk_client import encode_body
from tui_eval.clients.wire.responses_items import from_items, to_items
from tui_eval.messages import AssistantMessage, ToolCall, UserMessage, to_message

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
    # Two answers in a row cannot be distinguished on the wire, and do not occur.
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

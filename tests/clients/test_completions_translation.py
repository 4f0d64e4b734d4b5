"""Requests to a text completions endpoint, and its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drawn_conversations import texts
from endpoint_scripts import Connect
from hypothesis import given, settings
from openai.types import Completion
from servers import FaultServer

from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.completions import (
    CompletionAnswer,
    check_completion_answer,
    from_completion_answer,
    to_completion_body,
    to_completion_prompt,
)
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError, ModelError
from tui_eval.messages import (
    AssistantMessage,
    ImageUrlContentPart,
    ImageUrlSource,
    InputAudioContentPart,
    InputAudioSource,
    SystemMessage,
    TextContentPart,
    TextMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tui_eval.types import Response, Tool

PAYLOADS = Path(__file__).parent / "payloads"
IMAGE = ImageUrlContentPart(image_url=ImageUrlSource(url="https://example.org/cat.png"))
SOUND = InputAudioContentPart(input_audio=InputAudioSource(data="AAAA", format="wav"))


def answer_with(**choice: Any) -> CompletionAnswer:
    payload = {"id": "x", "choices": [{"text": "a", "finish_reason": "stop", **choice}]}
    answer: CompletionAnswer = decode_answer(json.dumps(payload).encode(), CompletionAnswer)
    return answer


def read(name: str) -> Response:
    answer = decode_answer((PAYLOADS / name).read_bytes(), CompletionAnswer)
    check_completion_answer(answer)
    return from_completion_answer(answer)


@given(texts)
@settings(max_examples=60, deadline=None)
def test_a_text_survives_the_wire_and_the_way_back(text: str) -> None:
    assert to_completion_prompt([TextMessage(content=text)]) == text

    answer = answer_with(text=text)
    check_completion_answer(answer)

    assert from_completion_answer(answer).message.content == text


def test_texts_of_a_conversation_are_joined_by_empty_lines() -> None:
    conversation = [
        SystemMessage(content="Be brief."),
        {"role": "user", "content": [TextContentPart(text="a"), {"type": "text", "text": "b"}]},
        AssistantMessage(content=None),
        AssistantMessage(content="c"),
        ToolMessage(tool_call_id="x", content="d"),
        "e",
    ]

    assert to_completion_prompt(conversation) == "Be brief.\n\nab\n\nc\n\nd\n\ne"


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (UserMessage(content=[IMAGE]), "'image_url'"),
        (UserMessage(content=[SOUND]), "'input_audio'"),
        (
            AssistantMessage(tool_calls=[ToolCall(id="a", name="f", arguments="{}")]),
            "tool calls",
        ),
    ],
)
def test_what_is_no_text_is_refused_by_its_place(message: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"message 2 holds .*{named}.*openai_chat_completions"):
        to_completion_prompt([UserMessage(content="hi"), message])


async def test_tools_are_a_model_error_that_names_the_tool(
    connect: Connect, fault_server: FaultServer
) -> None:
    tool = Tool(name="add", description="d", parameters={"type": "object"})

    async with connect("openai_completions") as client:
        with pytest.raises(ModelError, match=r"'add'.*openai_chat_completions"):
            await client.get_response([UserMessage(content="hi")], "m", {}, [tool])

    assert fault_server.requests == []


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"max_tokens": 5, "n": 1, "temperature": None}, {"max_tokens": 5, "n": 1}),
        ({"max_completion_tokens": 5}, {"max_tokens": 5}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": 3}),
        ({"logprobs": True}, {"logprobs": 1}),
        ({"logprobs": False}, {}),
        ({"logprobs": 2}, {"logprobs": 2}),
        ({"top_k": 3, "extra_body": {"best_of": 1}}, {"top_k": 3, "best_of": 1}),
    ],
)
def test_sampling_arguments_get_the_protocols_names(
    sampling: dict[str, Any], expected: dict[str, Any]
) -> None:
    body, _ = to_completion_body("p", "m", sampling)

    assert body == {"model": "m", "prompt": "p", "stream": False, **expected}


def test_reads_text_usage_and_log_probabilities_of_openai() -> None:
    response = read("openai_completion.json")

    message = response.message
    assert (message.content, message.finish_reason, message.is_truncated) == (
        "\n\nA test.",
        "length",
        True,
    )
    assert (response.id, response.created) == ("cmpl-uqkv", 1589478378)
    assert response.usage is not None and response.usage.total_tokens == 8
    assert message.get("logprobs")["token_logprobs"] == [-0.1, -0.25, -1.5]
    assert message.tokens is None


@pytest.mark.parametrize("name", ["openai_completion.json", "vllm_completion_tokens.json"])
def test_the_sdks_own_objects_are_read_alike(name: str) -> None:
    native = Completion.model_validate_json((PAYLOADS / name).read_bytes())

    check_completion_answer(native)

    assert from_completion_answer(native).model_dump() == read(name).model_dump()


@pytest.mark.parametrize("count", [0, 2])
def test_anything_but_one_choice_is_invalid(count: int) -> None:
    payload = {"choices": [{"text": "a"}] * count}
    answer = decode_answer(json.dumps(payload).encode(), CompletionAnswer)

    with pytest.raises(InvalidModelResponseError, match=f"{count} choices"):
        check_completion_answer(answer)


@pytest.mark.parametrize("text", [None, ""])
def test_an_answer_without_text_is_empty_where_nothing_says_why(text: str | None) -> None:
    check_completion_answer(answer_with(text=text, finish_reason="length"))
    with pytest.raises(EmptyModelResponseError, match="finish reason: None"):
        check_completion_answer(answer_with(text=text, finish_reason=None))

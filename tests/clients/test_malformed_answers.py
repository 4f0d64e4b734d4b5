"""Answers that are not as they should be, of every protocol: which error, and what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS, Connect, take
from servers import FaultServer, Reply

from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import UserMessage
from tui_eval.types import Response

PROMPT = [UserMessage(content="hi")]
WAYS = ["short way", "SDK's way"]


async def ask(client: Any) -> Response:
    response: Response = await client.get_response(PROMPT, "m", {"max_tokens": 5})
    return response


async def failure(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, body: Any
) -> InvalidModelResponseError:
    fault_server.script(PATHS[client_type], [Reply(body=body)])
    async with connect(client_type) as client:
        with pytest.raises(InvalidModelResponseError) as raised:
            await ask(take(way, client))
    assert len(fault_server.requests) == 1
    return raised.value


def with_call(client_type: str, name: Any, arguments: Any) -> dict[str, Any]:
    """A good answer with one tool call in it."""
    answer = ANSWERS[client_type]
    if client_type == "anthropic_messages":
        block = {"type": "tool_use", "id": "a", "name": name, "input": arguments}
        return {**answer, "content": [block]}
    if client_type == "openai_responses":
        item = {"type": "function_call", "call_id": "a", "name": name, "arguments": arguments}
        return {**answer, "output": [item]}
    call = {"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {**answer, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


with_tools = pytest.mark.parametrize(
    "client_type", ["openai_chat_completions", "openai_responses", "anthropic_messages"]
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("body", [b"<html><h1>Hello</h1></html>", b"", b'{"id": "x", '])
async def test_no_json(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, body: bytes
) -> None:
    error = await failure(connect, fault_server, client_type, way, body)

    assert "no usable JSON" in str(error)
    if way == "short way":
        assert f"{fault_server.url}{PATHS[client_type]} answered" in str(error)
        assert (body.decode() or "nothing at all") in str(error)


@pytest.mark.parametrize("way", WAYS)
async def test_a_page_of_html_that_says_so(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str
) -> None:
    page = Reply(body=b"<html>Hello</html>", headers={"Content-Type": "text/html"})
    fault_server.script(PATHS[client_type], [page])

    async with connect(client_type) as client:
        with pytest.raises(InvalidModelResponseError, match="<html>Hello"):
            await ask(take(way, client))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("body", [{}, [], "text", None, 7])
async def test_json_of_another_shape(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, body: Any
) -> None:
    error = await failure(connect, fault_server, client_type, way, json.dumps(body).encode())

    assert str(error)
    assert not isinstance(error, EmptyModelResponseError)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("client_type", "field", "value"),
    [
        ("openai_chat_completions", "choices", "none today"),
        ("openai_chat_completions", "choices", ["text"]),
        ("openai_chat_completions", "choices", [{"message": "text"}]),
        ("openai_chat_completions", "choices", [{"message": {"content": [7]}}]),
        ("openai_chat_completions", "choices", [{"message": {"tool_calls": ["f"]}}]),
        ("openai_completions", "choices", "none today"),
        ("openai_completions", "choices", [{"text": ["a"]}]),
        ("openai_completions", "choices", [7]),
        ("openai_responses", "output", "none today"),
        ("openai_responses", "output", [7]),
        ("openai_responses", "output", [{"type": "message", "content": "text"}]),
        ("openai_responses", "output", [{"type": "reasoning", "summary": [7]}]),
        ("openai_responses", "output", [{"no": "type"}]),
        ("anthropic_messages", "content", "none today"),
        ("anthropic_messages", "content", [7]),
        ("anthropic_messages", "content", [{"type": "text", "text": ["a"]}]),
    ],
)
async def test_a_field_of_another_type(
    connect: Connect,
    fault_server: FaultServer,
    way: str,
    client_type: str,
    field: str,
    value: Any,
) -> None:
    body = {**ANSWERS[client_type], field: value}

    error = await failure(connect, fault_server, client_type, way, body)

    if way == "short way":
        assert field in str(error) or "answer cannot be read" in str(error)


@pytest.mark.parametrize("way", WAYS)
@with_tools
@pytest.mark.parametrize("name", [None, ""])
async def test_a_tool_call_without_a_name(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, name: str | None
) -> None:
    body = with_call(client_type, name, {} if client_type == "anthropic_messages" else "{}")

    error = await failure(connect, fault_server, client_type, way, body)

    assert str(error).startswith("tool call 1 of the answer names no ")


@pytest.mark.parametrize("way", WAYS)
@with_tools
@pytest.mark.parametrize("arguments", [{"x": 1}, None])
async def test_arguments_that_are_no_text_become_json(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, arguments: Any
) -> None:
    fault_server.script(PATHS[client_type], [Reply(body=with_call(client_type, "f", arguments))])

    async with connect(client_type) as client:
        calls = (await ask(take(way, client))).message.tool_calls or []

    assert [json.loads(call.arguments) for call in calls] == [arguments or {}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client_type", ["openai_chat_completions", "openai_completions"])
@pytest.mark.parametrize("count", [0, 2])
async def test_no_choice_or_two(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, count: int
) -> None:
    answer = ANSWERS[client_type]
    body = {**answer, "choices": answer["choices"] * count}

    error = await failure(connect, fault_server, client_type, way, body)

    assert f"{count} choices instead of one" in str(error)
    assert fault_server.url in str(error)


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_in_the_answer_and_no_reason_for_it(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str
) -> None:
    empty = {
        "choices": [{"index": 0, "text": "", "message": {"content": ""}, "finish_reason": None}],
        "output": [],
        "content": [],
        "status": None,
        "stop_reason": None,
    }
    answer = ANSWERS[client_type]
    body = {key: empty.get(key, value) for key, value in answer.items()}

    error = await failure(connect, fault_server, client_type, way, body)

    assert isinstance(error, EmptyModelResponseError)
    assert "the answer has no text" in str(error)
    used = (error.usage.prompt_tokens, error.usage.completion_tokens)
    assert used == (3, 1), "it was paid for"


@pytest.mark.parametrize("way", WAYS)
async def test_an_error_object_with_a_good_status(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str
) -> None:
    body = {"error": {"message": "upstream is busy"}}

    error = await failure(connect, fault_server, client_type, way, body)

    assert "upstream is busy" in str(error)

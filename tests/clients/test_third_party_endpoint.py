"""The clients against an endpoint that somebody else wrote, tool calls included."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from endpoint_scripts import PATHS, take

from tui_eval.clients import make_client
from tui_eval.clients.base import Client
from tui_eval.errors import ModelError
from tui_eval.messages import ToolMessage, UserMessage
from tui_eval.types import ClientConfig, Tool

WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)


# It has no text completions.
@pytest.fixture(params=[kind for kind in PATHS if kind != "openai_completions"])
def client_type(request: pytest.FixtureRequest) -> str:
    """Each of its protocols in turn."""
    kind: str = request.param
    return kind


@pytest.fixture(params=["short way", "SDK's way", "streamed"])
async def client(
    aimock: str, client_type: str, request: pytest.FixtureRequest
) -> AsyncIterator[Client[Any, Any, Any, Any]]:
    """A client of the third-party endpoint, on each of its ways."""
    settings = {"api_base_url": f"{aimock}/v1", "max_retries": 0, "client_type": client_type}
    settings["stream"] = request.param == "streamed"
    made = make_client(ClientConfig.model_validate(settings), "any-key-will-do")
    yield take(request.param, made)
    await made.close()


async def test_text(client: Any) -> None:
    response = await client.get_response([UserMessage(content="hello")], "m", {"max_tokens": 50})

    assert response.message.content == "Hi there!"
    assert response.message.finish_reason == "stop"


async def test_tool_calls_and_their_results(client: Any) -> None:
    prompt: list[Any] = [UserMessage(content="How is the weather?")]

    first = await client.get_response(prompt, "m", {"max_tokens": 50}, [WEATHER])
    calls = first.message.tool_calls
    prompt.append(first.message)
    prompt += [ToolMessage(tool_call_id=call.id, content="rain") for call in calls]
    second = await client.get_response(prompt, "m", {"max_tokens": 50}, [WEATHER])

    assert [(c.id, c.name, json.loads(c.arguments)) for c in calls] == [
        ("call_1", "get_weather", {"city": "Oslo"}),
        ("call_2", "get_weather", {"city": "Bergen"}),
    ]
    assert first.message.finish_reason == "tool_calls"
    assert second.message.content == "Take an umbrella."


async def test_its_refusal_is_reported(client: Any) -> None:
    with pytest.raises(ModelError, match="no fixture matched"):
        await client.get_response([UserMessage(content="?")], "m", {"max_tokens": 50})

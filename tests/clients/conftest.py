"""Clients of a scripted endpoint, and time that does not pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from endpoint_scripts import KEY, PATHS, Connect
from pretended_time import PretendedTime
from servers import FaultServer
from third_party import running_aimock

from tui_eval.clients import make_client
from tui_eval.clients.base import Client
from tui_eval.types import ClientConfig


@pytest.fixture
def connect(fault_server: FaultServer) -> Connect:
    """Makes clients of the scripted endpoint: `async with connect(max_retries=0) as client`."""

    @asynccontextmanager
    async def connected(
        client_type: str = "openai_chat_completions", key: str = KEY, **settings: Any
    ) -> AsyncIterator[Client[Any, Any, Any, Any]]:
        settings.setdefault("api_base_url", f"{fault_server.url}/v1")
        config = ClientConfig.model_validate({"client_type": client_type, **settings})
        client = make_client(config, key)
        try:
            yield client
        finally:
            await client.close()

    return connected


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, in seconds; none of them is waited."""
    return PretendedTime(monkeypatch).naps


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a third-party endpoint that knows the weather."""
    fixtures = [
        {
            "match": {"userMessage": "weather", "hasToolResult": False},
            "response": {
                "toolCalls": [
                    {"id": "call_1", "name": "get_weather", "arguments": {"city": "Oslo"}},
                    {"id": "call_2", "name": "get_weather", "arguments": {"city": "Bergen"}},
                ]
            },
        },
        {
            "match": {"userMessage": "weather", "toolResultContains": "rain"},
            "response": {"content": "Take an umbrella."},
        },
        {"match": {"userMessage": "hello"}, "response": {"content": "Hi there!"}},
    ]
    with running_aimock(fixtures, tmp_path_factory.mktemp("aimock")) as url:
        yield url


# The token client is the chat client until a rollout's second turn; that has tests of its own.
@pytest.fixture(params=[kind for kind in PATHS if not kind.endswith("_token")])
def client_type(request: pytest.FixtureRequest) -> str:
    """Each protocol in turn."""
    kind: str = request.param
    return kind

"""Base URLs in every spelling."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, KEY, PATHS, Connect
from servers import FaultServer, Reply

from tui_eval.clients import make_client
from tui_eval.clients.base_urls import has_only_plain_query
from tui_eval.errors import ModelError
from tui_eval.messages import UserMessage
from tui_eval.types import ClientConfig

PROMPT = [UserMessage(content="hi")]
KINDS = [kind for kind in PATHS if not kind.endswith("_token")]


async def ask(client: Any) -> str:
    response = await client.get_response(PROMPT, "m", {"max_tokens": 5})
    return str(response.message.content)


@pytest.mark.parametrize("below", ["", "/api"])
@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "whole", "whole/"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [False, True])
async def test_every_spelling_of_a_base_url_means_the_same(
    connect: Connect, fault_server: FaultServer, kind: str, suffix: str, below: str, stream: bool
) -> None:
    path = below + PATHS[kind]
    fault_server.script(path, [Reply(body=ANSWERS[kind])])
    url = fault_server.url + below + suffix.replace("whole", PATHS[kind])

    async with connect(kind, api_base_url=url, stream=stream) as client:
        assert [await ask(client) for _ in range(2)] == ["ok", "ok"]

    found = [request.path for request in fault_server.requests]
    assert found[-2:] == [path, path]
    assert len(found) <= 3


@pytest.mark.parametrize("suffix", ["", "/v1", "/chat/completions"])
async def test_a_server_without_a_version_in_its_paths_is_found(
    connect: Connect, fault_server: FaultServer, suffix: str
) -> None:
    fault_server.script("/chat/completions", [Reply(body=ANSWERS["openai_chat_completions"])])

    async with connect(api_base_url=fault_server.url + suffix) as client:
        answers = await asyncio.gather(*[ask(client) for _ in range(8)])
        before = len(fault_server.requests)
        assert await ask(client) == "ok"
        assert str(client.client.base_url).rstrip("/") == fault_server.url

    assert answers == ["ok"] * 8
    assert [one.path for one in fault_server.requests[before:]] == ["/chat/completions"]


async def test_the_error_names_the_first_url_where_no_route_exists(
    connect: Connect, fault_server: FaultServer
) -> None:
    async with connect(api_base_url=f"{fault_server.url}/v1") as client:
        reported = await asyncio.gather(*[ask(client) for _ in range(4)], return_exceptions=True)
        before = len(fault_server.requests)
        with pytest.raises(ModelError, match="/v1/chat/completions"):
            await ask(client)

    assert all("404 from" in str(one) and "/v1/chat/completions" in str(one) for one in reported)
    assert len(fault_server.requests) - before == 1


async def test_a_model_that_is_missing_is_not_looked_for_elsewhere(
    connect: Connect, fault_server: FaultServer
) -> None:
    reported = {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}
    fault_server.script(PATHS["openai_chat_completions"], [Reply(404, reported)])

    async with connect(api_base_url=fault_server.url) as client:
        with pytest.raises(ModelError, match="does not exist"):
            await ask(client)

    assert len(fault_server.requests) == 1


async def test_azures_query_goes_with_every_request(
    connect: Connect, fault_server: FaultServer
) -> None:
    path = "/openai/deployments/mine/chat/completions"
    fault_server.script(path, [Reply(body=ANSWERS["openai_chat_completions"])])

    url = f"{fault_server.url}{path}?api-version=2024-10-21"
    async with connect(api_base_url=url) as client:
        assert await ask(client) == "ok"
        await client.client.chat.completions.create(model="m", messages=[])

    assert [(one.path, one.query) for one in fault_server.requests] == [
        (path, "api-version=2024-10-21")
    ] * 2


def test_azure_gets_the_key_in_its_own_header() -> None:
    config = ClientConfig(api_base_url="https://mine.openai.azure.com/openai/v1")
    client: Any = make_client(config, KEY)

    sent = client.sdk_headers(config)

    assert (sent["api-key"], "authorization" in sent) == (KEY, False)
    assert client.client.default_headers["api-key"] == KEY


@pytest.mark.parametrize(
    ("url", "is_plain"),
    [
        ("https://h/v1", True),
        ("https://h/v1?api-version=preview", True),
        ("https://h/v1?key=AIza", False),
        ("https://h/v1?api-version=1&key=x", False),
        ("https://h/v1?", False),
        ("https://h/v1#x", False),
    ],
)
def test_a_query_that_may_hold_a_secret_is_known(url: str, is_plain: bool) -> None:
    assert has_only_plain_query(url) is is_plain

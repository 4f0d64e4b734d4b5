"""Connections of a client: loops, proxies, compression, streams, ends."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import traceback
import warnings
from typing import Any

import pytest
from endpoint_scripts import CHAT_ANSWER, KEY, PATHS, Connect, take
from servers import FaultServer, Reply
from yarl import URL

from tui_eval.clients import make_client
from tui_eval.clients.proxies import proxy_of
from tui_eval.errors import ModelError
from tui_eval.messages import UserMessage
from tui_eval.types import ClientConfig

CHAT = PATHS["openai_chat_completions"]
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


async def ask(client: Any) -> str:
    response = await client.get_response([UserMessage(content="hi")], "m", {})
    said: str = response.message.content
    return said


@pytest.fixture(params=["short way", "SDK's way"])
def way(request: pytest.FixtureRequest) -> str:
    """Each way of a call in turn."""
    name: str = request.param
    return name


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without proxies."""
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


def client_of(server: FaultServer) -> Any:
    server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    return make_client(ClientConfig(api_base_url=f"{server.url}/v1"), KEY)


def on_a_loop_closed_by_hand(client: Any) -> str:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(ask(client))
    finally:
        loop.close()


async def test_both_ways_share_one_pool(connect: Connect, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])

    async with connect() as client:
        await ask(client)
        await ask(take("SDK's way", client))

    assert (len(fault_server.requests), fault_server.connections) == (2, 1)


@pytest.mark.parametrize("run", [lambda c: asyncio.run(ask(c)), on_a_loop_closed_by_hand])
def test_a_client_works_on_one_loop_after_another(
    fault_server: FaultServer, way: str, run: Any
) -> None:
    client = take(way, client_of(fault_server))

    assert [run(client), run(client)] == ["ok", "ok"]


async def dropped_inside(server: FaultServer) -> None:
    client = client_of(server)
    await ask(client)
    del client
    gc.collect()


@pytest.mark.parametrize(
    "use",
    [
        lambda server: asyncio.run(ask(client_of(server))),
        lambda server: on_a_loop_closed_by_hand(client_of(server)),
        lambda server: asyncio.run(dropped_inside(server)),
    ],
    ids=["the loop ends", "the loop is closed by hand", "the loop goes on"],
)
def test_a_client_that_nobody_closes_makes_no_noise(
    fault_server: FaultServer, caplog: pytest.LogCaptureFixture, use: Any
) -> None:
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        use(fault_server)
        gc.collect()

    texts = [str(warning.message) for warning in caught]
    assert [text for text in texts if "Unclosed" in text] == []
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


async def test_a_closed_client_says_so(connect: Connect, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    async with connect() as client:
        await ask(client)

    with pytest.raises(ModelError, match="closed"):
        await ask(client)


async def test_compressed_answers_are_read(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    packed = gzip.compress(json.dumps(CHAT_ANSWER).encode())
    wrong = gzip.compress(b'{"error": {"message": "so it is"}}')
    headers = {"Content-Encoding": "gzip"}
    fault_server.script(CHAT, [Reply(body=packed, headers=headers), Reply(400, wrong, headers)])

    async with connect() as client:
        assert await ask(take(way, client)) == "ok"
        with pytest.raises(ModelError, match="so it is"):
            await ask(client)

    assert "gzip" in fault_server.requests[0].headers["Accept-Encoding"]


async def test_a_header_of_a_call_takes_the_place_of_the_clients(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    sampling = {"extra_headers": {"AUTHORIZATION": "Bearer other"}}

    async with connect() as client:
        await take(way, client).get_response([UserMessage(content="hi")], "m", sampling)
        await ask(client)

    sent = [request.headers.getall("Authorization") for request in fault_server.requests]
    assert sent == [["Bearer other"], [f"Bearer {KEY}"]]


async def test_cookies_are_not_sent_back(connect: Connect, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER, headers={"Set-Cookie": "a=b; Path=/"})])

    url = fault_server.url.replace("127.0.0.1", "localhost")
    async with connect(api_base_url=f"{url}/v1") as client:
        await ask(client)
        await ask(client)

    assert not any("Cookie" in request.headers for request in fault_server.requests)


async def test_the_sdks_client_streams(connect: Connect, fault_server: FaultServer) -> None:
    chunk = {**CHAT_ANSWER, "object": "chat.completion.chunk"}
    chunk["choices"] = [{"index": 0, "delta": {"content": "ok"}, "finish_reason": None}]
    body = f"data: {json.dumps(chunk)}\n\n".encode()
    stream = {"Content-Type": "text/event-stream"}
    fault_server.script(CHAT, [Reply(body=body * 3 + b"data: [DONE]\n\n", headers=stream)])

    async with connect() as client:
        chunks = await client.client.chat.completions.create(
            model="judge", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        said = [chunk.choices[0].delta.content async for chunk in chunks]

    assert said == ["ok", "ok", "ok"]


async def test_the_proxy_gets_its_password(
    connect: Connect, fault_server: FaultServer, way: str, no_proxy: pytest.MonkeyPatch
) -> None:
    no_proxy.setenv("ALL_PROXY", fault_server.url.replace("//", "//me:word@"))
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])

    async with connect(api_base_url="http://endpoint.invalid/v1") as client:
        await ask(take(way, client))

    request = fault_server.requests[0]
    assert request.headers["Host"] == "endpoint.invalid"
    assert request.headers["Proxy-Authorization"] == "Basic bWU6d29yZA=="
    assert request.headers["Authorization"] == f"Bearer {KEY}"


async def test_a_proxy_that_refuses_is_named_without_its_password(
    connect: Connect, way: str, no_proxy: pytest.MonkeyPatch
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        no_proxy.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{port}")
        async with connect(api_base_url="https://a.test/v1", max_retries=0) as client:
            with pytest.raises(ModelError, match="the proxy answers 407 Who are you") as raised:
                await ask(take(way, client))

    assert "hunter2" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("url", "rules", "direct"),
    [
        ("http://a.test", "", False),
        ("http://a.test", "b.test, A.test", True),
        ("http://x.a.test", "a.test", True),
        ("http://x.a.test", "*.a.test", True),
        ("http://xa.test", "a.test", False),
        ("http://a.test", "*", True),
        ("http://a.test:8000", "a.test:8000", True),
        ("http://a.test:8001", "a.test:8000", False),
        ("http://10.1.2.3:8000", "10.0.0.0/8", True),
        ("http://11.1.2.3:8000", "10.0.0.0/8", False),
        ("http://[::1]:8000", "::1", True),
    ],
)
def test_some_hosts_need_no_proxy(
    no_proxy: pytest.MonkeyPatch, url: str, rules: str, direct: bool
) -> None:
    no_proxy.setenv("HTTP_PROXY", "proxy.test:3128")
    no_proxy.setenv("NO_PROXY", rules)

    found = proxy_of(URL(url))

    assert found == (None if direct else URL("http://proxy.test:3128"))


def test_each_scheme_has_its_proxy(no_proxy: pytest.MonkeyPatch) -> None:
    assert proxy_of(URL("https://a.test")) is None
    no_proxy.setenv("HTTPS_PROXY", "http://one.test:1")
    no_proxy.setenv("ALL_PROXY", "http://two.test:2")

    found = [proxy_of(URL(f"{scheme}://a.test")) for scheme in ("https", "http")]

    assert found == [URL("http://one.test:1"), URL("http://two.test:2")]

"""Causes of calls without an answer: proxy, TLS, name, refused, reset, broken."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from endpoint_scripts import CHAT_ANSWER, PATHS, Connect, take
from servers import FaultServer, Reply

from tui_eval.clients.proxies import proxy_found, spare_loopback
from tui_eval.errors import ModelError
from tui_eval.messages import UserMessage

CHAT = PATHS["openai_chat_completions"]
GOOD = Reply(body=CHAT_ANSWER)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without proxies."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A loopback port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()[1]


@pytest.fixture(params=["short way", "SDK's way"])
def way(request: pytest.FixtureRequest) -> str:
    """Each way of a call in turn."""
    name: str = request.param
    return name


async def fault(connect: Connect, way: str, url: str, **more: Any) -> str:
    async with connect(api_base_url=url, **more) as client:
        with pytest.raises(ModelError) as raised:
            await take(way, client).get_response([UserMessage(content="hi")], "m", {})
    return str(raised.value)


async def test_a_refused_connection_is_called_that(
    connect: Connect, way: str, naps: list[float], closed_port: int
) -> None:
    said = await fault(connect, way, f"http://127.0.0.1:{closed_port}/v1", max_retries=1)
    place = f"port {closed_port} of 127.0.0.1"
    assert f"nothing listens on {place} (connection refused) (tried 2 times)" in said


async def test_a_name_that_nobody_knows_is_named(
    connect: Connect, way: str, naps: list[float]
) -> None:
    said = await fault(connect, way, "http://nowhere.invalid/v1", max_retries=0)
    assert "the host nowhere.invalid is not known (DNS)" in said


async def test_https_to_an_http_port_is_named_and_not_retried(
    connect: Connect, way: str, naps: list[float], fault_server: FaultServer
) -> None:
    said = await fault(connect, way, fault_server.url.replace("http", "https"))
    assert "no TLS there: the port speaks plain http" in said
    assert naps == []


async def test_a_certificate_that_is_not_trusted_says_why_and_what_helps(
    connect: Connect, way: str, naps: list[float], no_proxy: pytest.MonkeyPatch
) -> None:
    import certifi

    no_proxy.setenv("SSL_CERT_FILE", certifi.where())
    with FaultServer(tls=True) as server:
        said = await fault(connect, way, f"{server.url}/v1")
    assert "the server's certificate is signed by itself" in said
    assert "SSL_CERT_FILE" in said
    assert naps == []


async def test_a_proxy_that_is_down_is_named_with_its_variable(
    connect: Connect, way: str, naps: list[float], no_proxy: pytest.MonkeyPatch, closed_port: int
) -> None:
    no_proxy.setenv("HTTP_PROXY", f"http://me:hunter2@127.0.0.1:{closed_port}")
    said = await fault(connect, way, "http://endpoint.invalid/v1", max_retries=1)
    proxy = f"the proxy http://127.0.0.1:{closed_port} of HTTP_PROXY"
    assert f"{proxy}: nothing listens on port {closed_port} of 127.0.0.1" in said
    assert "unset HTTP_PROXY, or name the host in NO_PROXY" in said
    assert "hunter2" not in said
    assert len(naps) == 1


async def test_a_proxy_that_needs_a_password_is_not_retried(
    connect: Connect, way: str, naps: list[float], no_proxy: pytest.MonkeyPatch,
    fault_server: FaultServer,
) -> None:  # fmt: skip
    fault_server.script(CHAT, [Reply(407)])
    no_proxy.setenv("HTTP_PROXY", fault_server.url)
    said = await fault(connect, way, "http://endpoint.invalid/v1")
    assert "a proxy wants a user and password" in said
    assert naps == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1", "[::1]"])
def test_loopback_bypasses_the_proxy(no_proxy: pytest.MonkeyPatch, host: str) -> None:
    no_proxy.setenv("ALL_PROXY", "http://proxy.test:1")
    assert proxy_found(f"http://{host}:8000/v1") is None
    assert str(proxy_found("http://a.test")) == "the proxy http://proxy.test:1 of ALL_PROXY"


async def test_calls_and_the_sdks_client_go_around_the_proxy_to_this_machine(
    connect: Connect, fault_server: FaultServer, no_proxy: pytest.MonkeyPatch, closed_port: int
) -> None:
    fault_server.script(CHAT, [GOOD])
    no_proxy.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port}")
    async with connect() as client:
        await client.get_response([UserMessage(content="hi")], "m", {})
        await client.client.chat.completions.create(
            model="judge", messages=[{"role": "user", "content": "hi"}]
        )
    assert len(fault_server.requests) == 2


def test_other_libraries_of_the_process_go_around_it_too(no_proxy: pytest.MonkeyPatch) -> None:
    spare_loopback()
    import os

    assert "NO_PROXY" not in os.environ, "there is nothing to go around"
    no_proxy.setenv("HTTPS_PROXY", "http://proxy.test:1")
    no_proxy.setenv("NO_PROXY", "a.test")
    spare_loopback()
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "a.test,localhost,127.0.0.1,::1"


async def test_an_answer_that_breaks_off_is_no_missing_connection(
    connect: Connect, way: str, naps: list[float], fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER, cut=40)])
    said = await fault(connect, way, f"{fault_server.url}/v1", max_retries=0)
    assert re.match(r"the answer from \S+ broke off: ", said)


async def test_an_error_that_comes_as_an_event_stream_is_unpacked(
    connect: Connect, way: str, naps: list[float], fault_server: FaultServer
) -> None:
    reported = (
        b'data: {"error": {"message": "upstream is down", "code": "500"}}\n\ndata: [DONE]\n\n'
    )
    fault_server.script(CHAT, [Reply(500, reported, {"Content-Type": "text/event-stream"})])
    said = await fault(connect, way, f"{fault_server.url}/v1", max_retries=0)
    assert said.endswith(": upstream is down")

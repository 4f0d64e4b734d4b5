"""Endpoints behind TLS: whom a client trusts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint_scripts import CHAT_ANSWER, PATHS, Connect, take
from servers import FaultServer, Reply

from tui_eval.errors import ModelError
from tui_eval.messages import UserMessage


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A server whose certificate is that of `SSL_CERT_FILE`."""
    with FaultServer(tls=True) as server:
        server.script(PATHS["openai_chat_completions"], [Reply(body=CHAT_ANSWER)])
        yield server


async def ask(connect: Connect, server: FaultServer, way: str) -> str:
    async with connect(api_base_url=f"{server.url}/v1", max_retries=0) as client:
        answer = await take(way, client).get_response([UserMessage(content="hi")], "m", {})
    said: str = answer.message.content
    return said


@pytest.mark.parametrize("way", ["short way", "SDK's way"])
async def test_a_certificate_is_checked(
    connect: Connect, server: FaultServer, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await ask(connect, server, way) == "ok"

    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ModelError, match=r"(?i)certificate"):
        await ask(connect, server, way)

    assert len(server.requests) == 1


@pytest.mark.parametrize("way", ["short way", "SDK's way"])
async def test_certificates_that_cannot_be_read_are_a_fault_of_the_call(
    connect: Connect,
    server: FaultServer,
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "none.pem"
    path.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(path))

    with pytest.raises(ModelError, match=f"SSL_CERT_FILE={path}"):
        await ask(connect, server, way)

"""Keys of endpoints: variables, Prime's file, and hosts that must not get any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, CHAT_ANSWER, PATHS, Connect
from servers import FaultServer, Reply

from tui_eval.clients import make_client
from tui_eval.clients.credentials import credentials_of, is_prime, key_of
from tui_eval.errors import ModelError, RefusedError
from tui_eval.messages import UserMessage
from tui_eval.types import ClientConfig

PRIME_URL = "https://api.pinference.ai/api/v1"
PROMPT = [UserMessage(content="hi")]
PRIME_KEY = "pit_0123456789abcdef"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and no variables of Prime's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PRIME_API_KEY", raising=False)
    monkeypatch.delenv("PRIME_TEAM_ID", raising=False)
    return tmp_path


def write_prime_file(home: Path, content: Any) -> Path:
    path = home / ".prime" / "config.json"
    path.parent.mkdir()
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_primes_key_is_that_of_the_variable_before_that_of_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prime_file(home, {"api_key": "of-the-file", "team_id": None})

    assert key_of(ClientConfig(api_base_url=PRIME_URL)) == "of-the-file"
    monkeypatch.setenv("PRIME_API_KEY", "of-the-variable")
    assert key_of(ClientConfig(api_base_url=PRIME_URL)) == "of-the-variable"


def test_primes_team_is_that_of_the_variable_before_that_of_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prime_file(home, {"api_key": PRIME_KEY, "team_id": "of-the-file"})
    config = ClientConfig(api_base_url=PRIME_URL)

    assert credentials_of(config).headers == {"X-Prime-Team-ID": "of-the-file"}
    monkeypatch.setenv("PRIME_TEAM_ID", "of-the-variable")
    assert credentials_of(config).headers == {"X-Prime-Team-ID": "of-the-variable"}
    monkeypatch.setenv("PRIME_TEAM_ID", "")
    assert credentials_of(config).headers == {}


def test_a_team_among_the_extra_headers_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", PRIME_KEY)
    monkeypatch.setenv("PRIME_TEAM_ID", "other")
    config = ClientConfig(api_base_url=PRIME_URL, extra_headers={"x-prime-team-id": "mine"})

    assert credentials_of(config).headers == {}
    made = make_client(config).config
    assert made is not None and made.extra_headers == {"x-prime-team-id": "mine"}


async def test_prime_gets_key_and_team(
    fault_server: FaultServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prime_file(home, {"api_key": PRIME_KEY, "team_id": "team-1"})
    monkeypatch.setenv("HTTP_PROXY", fault_server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fault_server.script("/api/v1/chat/completions", [Reply(body=CHAT_ANSWER)])
    config = ClientConfig(
        api_base_url="http://api.pinference.ai/api/v1", extra_headers={"X-Own": "1"}
    )
    client = make_client(config)

    await client.get_response(PROMPT, "m", {})
    await client.close()

    headers = fault_server.requests[0].headers
    assert headers["Host"] == "api.pinference.ai"
    assert headers["Authorization"] == f"Bearer {PRIME_KEY}"
    assert (headers["X-Prime-Team-ID"], headers["X-Own"]) == ("team-1", "1")
    assert config.extra_headers == {"X-Own": "1"}


async def test_no_other_host_gets_what_is_primes(
    fault_server: FaultServer, client_type: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prime_file(home, {"api_key": "key-of-the-file", "team_id": "team-of-the-file"})
    monkeypatch.setenv("PRIME_API_KEY", PRIME_KEY)
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])
    config = ClientConfig.model_validate(
        {"client_type": client_type, "api_base_url": f"{fault_server.url}/v1"}
    )
    client = make_client(config)

    await client.get_response(PROMPT, "m", {"max_tokens": 5})
    await client.close()

    headers = str(fault_server.requests[0].headers)
    assert not any(part in headers for part in (PRIME_KEY, "of-the-file", "Prime-Team"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (PRIME_URL, True),
        ("https://api.primeintellect.ai/v1", True),
        ("https://PINFERENCE.AI:443/v1", True),
        ("https://evilpinference.ai/v1", False),
        ("https://pinference.ai.example.org/v1", False),
        ("https://example.org/pinference.ai", False),
        ("http://localhost:8000/v1", False),
    ],
)
def test_primes_hosts_are_known_by_their_whole_names(url: str, expected: bool) -> None:
    assert is_prime(url) is expected


def test_who_names_primes_variable_sends_its_key_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", PRIME_KEY)
    config = ClientConfig(api_base_url="http://localhost:8000/v1", api_key_var="PRIME_API_KEY")

    assert key_of(config) == PRIME_KEY


def test_a_missing_key_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(RefusedError, match=r"PRIME_API_KEY.*prime login"):
        key_of(ClientConfig(api_base_url=PRIME_URL))
    with pytest.raises(RefusedError, match=r"SOME_KEY: .*not set.*export SOME_KEY") as raised:
        key_of(ClientConfig(api_base_url="http://x/v1", api_key_var="SOME_KEY"))
    assert "prime login" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://[x", "http://h:v1", "http://h:65536/v1"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(RefusedError, match="api_base_url: this is no URL"):
        key_of(ClientConfig(api_base_url=url))


def test_an_empty_variable_name_means_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", PRIME_KEY)
    assert key_of(ClientConfig(api_base_url=PRIME_URL, api_key_var="")) == ""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{oops", "no JSON"),
        ("[1]", "list, not an object"),
        ({"api_key": 7}, "api_key is int, not text"),
    ],
)
def test_a_broken_file_is_refused_by_name_where_it_is_needed(
    home: Path, monkeypatch: pytest.MonkeyPatch, content: Any, reason: str
) -> None:
    path = write_prime_file(home, content)

    with pytest.raises(RefusedError, match=reason) as raised:
        key_of(ClientConfig(api_base_url=PRIME_URL))
    assert str(path) in str(raised.value)

    assert key_of(ClientConfig(api_base_url="http://localhost:8000/v1")) == ""
    monkeypatch.setenv("PRIME_API_KEY", PRIME_KEY)
    monkeypatch.setenv("PRIME_TEAM_ID", "t")
    assert key_of(ClientConfig(api_base_url=PRIME_URL)) == PRIME_KEY


async def test_a_key_of_the_file_is_hidden_in_errors(fault_server: FaultServer, home: Path) -> None:
    write_prime_file(home, {"api_key": PRIME_KEY})
    path = PATHS["openai_chat_completions"]
    fault_server.script(path, [Reply(401, {"error": {"message": f"bad key {PRIME_KEY}"}})])
    config = ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="PRIME_API_KEY")
    client = make_client(config)

    with pytest.raises(ModelError, match=r"bad key \[redacted\]") as raised:
        await client.get_response(PROMPT, "m", {})
    await client.close()

    assert PRIME_KEY not in str(raised.value) + repr(credentials_of(config))


async def test_a_key_that_is_given_needs_no_variable(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=CHAT_ANSWER)])

    async with connect(key="given-key", api_key_var="NO_SUCH_KEY") as client:
        await client.get_response(PROMPT, "m", {})

    assert fault_server.requests[0].headers["Authorization"] == "Bearer given-key"

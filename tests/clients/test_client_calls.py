"""One call of a client: what is sent, which way it goes, what people can override."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, CHAT_ANSWER, KEY, PATHS, Connect, take
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from servers import FaultServer, Reply

from tui_eval.clients import make_client
from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.clients.sdk_client import SdkClient
from tui_eval.clients.wire.chat_answer import ChatAnswer
from tui_eval.environments.single_turn import SingleTurnEnv
from tui_eval.errors import RefusedError
from tui_eval.messages import SystemMessage, UserMessage
from tui_eval.types import ClientConfig, Response, Tool

PROMPT = [SystemMessage(content="s"), UserMessage(content="hi")]
CHAT = PATHS["openai_chat_completions"]


async def ask(client: Any, **sampling: Any) -> Response:
    response: Response = await client.get_response(PROMPT, "m", sampling)
    return response


async def test_a_call_brings_the_answer(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])

    async with connect(client_type) as client:
        response = await ask(client, max_tokens=5)

    assert (response.message.content, response.message.finish_reason) == ("ok", "stop")
    assert response.usage is not None and response.usage.total_tokens == 4


async def test_openai_gets_key_and_body(connect: Connect, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    tool = Tool(name="f", description="d", parameters={"type": "object"})

    async with connect(extra_headers={"X-Team": "a"}) as client:
        await client.get_response(
            PROMPT,
            "m",
            {"max_tokens": 5, "top_k": 3, "extra_headers": {"x-call": "b"}, "seed": None},
            [tool],
        )

    request = fault_server.requests[0]
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert (request.headers["X-Team"], request.headers["x-call"]) == ("a", "b")
    assert request.headers["Content-Type"] == "application/json"
    assert not any(name.lower().startswith("x-stainless") for name in request.headers)
    assert request.json() == {
        "model": "m",
        "n": 1,
        "stream": False,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}],
        "max_tokens": 5,
        "top_k": 3,
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
            }
        ],
    }


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_anthropic_gets_key_version_and_body_whatever_the_url_ends_with(
    connect: Connect, fault_server: FaultServer, suffix: str
) -> None:
    fault_server.script("/v1/messages", [Reply(body=ANSWERS["anthropic_messages"])])

    url = fault_server.url + suffix
    async with connect("anthropic_messages", api_base_url=url) as client:
        await ask(client, stop="END", max_tokens=7)

    request = fault_server.requests[0]
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"]
    assert "Authorization" not in request.headers
    assert request.json() == {
        "model": "m",
        "system": "s",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 7,
        "stop_sequences": ["END"],
        "stream": False,
    }


async def test_without_a_key_none_is_sent_whatever_the_environment_holds(
    connect: Connect,
    fault_server: FaultServer,
    client_type: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])

    async with connect(client_type, key="") as client:
        await ask(client)
        await ask(take("SDK's way", client))

    assert len(fault_server.requests) == 2
    assert not any(KEY in str(request.headers) for request in fault_server.requests)


def test_a_missing_key_variable_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    config = ClientConfig(api_base_url="http://127.0.0.1:1", api_key_var="NO_SUCH_KEY")

    with pytest.raises(RefusedError, match="NO_SUCH_KEY"):
        make_client(config)
    with pytest.raises(RefusedError, match="no URL"):
        make_client(ClientConfig(), "key")


def test_a_url_with_a_password_is_refused_without_showing_it() -> None:
    config = ClientConfig(api_base_url="http://me:pass-word-9@127.0.0.1:1/v1")

    with pytest.raises(RefusedError, match="user or password") as raised:
        make_client(config)

    assert "pass-word-9" not in str(raised.value)


async def test_the_key_is_read_from_its_variable(
    fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "from-the-variable")
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    config = ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="SOME_KEY")
    client = OpenAIChatCompletionsClient(config)

    await ask(client)
    await client.close()

    assert fault_server.requests[0].headers["Authorization"] == "Bearer from-the-variable"


async def test_the_sdks_client_is_there_for_others(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])

    async with connect(max_retries=3) as client:
        completion = await client.client.chat.completions.create(
            model="judge", messages=[{"role": "user", "content": "hi"}]
        )
        assert client.client.max_retries == 3

    assert completion.choices[0].message.content == "ok"
    assert fault_server.requests[0].json()["model"] == "judge"


async def test_a_client_that_was_handed_in_is_called_with_unknown_arguments_in_the_body(
    fault_server: FaultServer,
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    sdk = AsyncOpenAI(api_key=KEY, base_url=f"{fault_server.url}/v1")
    client = OpenAIChatCompletionsClient(sdk)

    response = await ask(client, max_tokens=5, enable_thinking=False, temperature=0.5)
    await client.close()

    assert (client.client is sdk, response.message.content) == (True, "ok")
    body = fault_server.requests[0].json()
    assert (body["enable_thinking"], body["temperature"]) == (False, 0.5)
    assert body["max_tokens"] == 5


async def test_both_ways_send_the_same_body(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])
    sampling = {"max_tokens": 5, "odd": [1], "extra_body": {"x": 1}, "extra_query": {"q": "1"}}

    async with connect(client_type) as client:
        short = await client.get_response(PROMPT, "m", sampling)
        long = await take("SDK's way", client).get_response(PROMPT, "m", sampling)

    first, second = fault_server.requests
    assert first.json() == second.json()
    assert (first.query, second.query) == ("q=1", "q=1")
    left_out = {"created"}
    assert short.model_dump(exclude=left_out) == long.model_dump(exclude=left_out)


@pytest.mark.parametrize("way", ["short way", "SDK's way"])
async def test_arguments_that_the_sdk_does_not_know_reach_the_endpoint(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])
    sampling = {"enable_thinking": False, "extra_body": {"top_k": 3}, "temperature": 0.5}

    async with connect(client_type) as client:
        await take(way, client).get_response(PROMPT, "m", sampling)

    body = fault_server.requests[0].json()
    assert (body["enable_thinking"], body["top_k"], body["temperature"]) == (False, 3, 0.5)
    assert "extra_body" not in body


@pytest.mark.parametrize(
    ("client_type", "name"),
    [
        ("openai_completions", "max_tokens"),
        ("openai_responses", "max_output_tokens"),
        ("anthropic_messages", "max_tokens"),
    ],
)
async def test_the_limit_has_each_protocols_name(
    connect: Connect, fault_server: FaultServer, client_type: str, name: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])

    async with connect(client_type) as client:
        for requested in ("max_tokens", "max_completion_tokens"):
            await client.get_response(PROMPT, "m", {requested: 7, "n": 1})

    for request in fault_server.requests:
        limits = {key: value for key, value in request.json().items() if key.startswith("max_")}
        assert limits == {name: 7}


async def test_the_text_completions_environment_sends_its_prompt_as_it_is(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/completions", [Reply(body=ANSWERS["openai_completions"])])
    env = SingleTurnEnv(
        dataset=[{"prompt": "Once upon a time", "answer": "ok"}], message_type="completion"
    )
    row = next(iter(env.get_dataset()))

    async with connect("openai_completions") as client:
        state = await env.rollout(row, client, "m", env.sampling_args)

    assert state["error"] is None
    body = {"model": "m", "prompt": "Once upon a time", "n": 1, "stream": False}
    assert fault_server.requests[0].json() == body
    assert state["completion"][0]["content"] == "ok"


async def test_an_overridden_call_gets_the_sdks_objects(fault_server: FaultServer) -> None:
    class Counting(OpenAIChatCompletionsClient):
        native: Any = None

        async def get_native_response(self, *args: Any, **kwargs: Any) -> Any:
            self.native = await super().get_native_response(*args, **kwargs)
            return self.native

    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    client = Counting(ClientConfig(api_base_url=f"{fault_server.url}/v1"), api_key=KEY)

    await ask(client)
    await client.close()

    assert isinstance(client.native, ChatCompletion)


async def test_an_overridden_reading_sees_the_sdks_attribute_names(
    fault_server: FaultServer,
) -> None:
    class Shouting(OpenAIChatCompletionsClient):
        native: Any = None

        async def from_native_response(self, response: Any) -> Response:
            self.native = response
            response.choices[0].message.content = response.choices[0].message.content.upper()
            return await super().from_native_response(response)

    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])
    client = Shouting(ClientConfig(api_base_url=f"{fault_server.url}/v1"), api_key=KEY)

    response = await ask(client)
    await client.close()

    assert response.message.content == "OK"
    assert isinstance(client.native, ChatAnswer)
    assert client.native.model_dump()["usage"]["total_tokens"] == 4


async def test_no_more_connections_than_allowed_are_open(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER, delay=0.02)])

    async with connect(max_connections=2) as client:
        await asyncio.gather(*(ask(client) for _ in range(8)))

    assert (len(fault_server.requests), fault_server.most_at_once) == (8, 2)
    assert fault_server.connections == 2


async def test_connections_are_kept_between_calls(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])

    async with connect() as client:
        for _ in range(3):
            await ask(client)

    assert fault_server.connections == 1


async def test_connections_are_not_kept_where_that_is_set(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])

    async with connect(max_keepalive_connections=0) as client:
        for _ in range(3):
            await ask(client)

    assert fault_server.connections == 3


async def test_a_proxy_of_the_environment_is_used(
    connect: Connect, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", fault_server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER)])

    async with connect(api_base_url="http://endpoint.invalid/v1") as client:
        await ask(client)

    assert fault_server.requests[0].headers["Host"] == "endpoint.invalid"


@pytest.mark.parametrize("extra", [{}, {"authorization": "Basic x", "X-Team": "a"}])
@pytest.mark.parametrize("variable", ["", "OPENAI_ORG_ID", "OPENAI_CUSTOM_HEADERS"])
def test_the_short_way_sends_the_headers_of_openais_sdk(
    variable: str, extra: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv(variable, "X-Of: somebody")
    config = ClientConfig(api_base_url="http://127.0.0.1:1/v1", extra_headers=extra)
    client = OpenAIChatCompletionsClient(config, api_key=KEY)
    ours, theirs = client.sdk_headers(config), SdkClient.sdk_headers(client, config)
    assert {**ours, "user-agent": ""} == {**theirs, "user-agent": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client_type", "absent"),
    [
        ("openai_chat_completions", {"anthropic", "openai"}),
        ("openai_completions", {"anthropic", "openai"}),
        ("openai_responses", {"anthropic", "openai"}),
        ("anthropic_messages", {"openai"}),
    ],
)
def test_an_sdk_is_imported_where_it_is_needed(client_type: str, absent: set[str]) -> None:
    program = f"""
import sys
import tui_eval.clients, tui_eval.clients.anthropic_messages
import tui_eval.clients.openai_chat_completions
import tui_eval.clients.openai_completions, tui_eval.clients.openai_responses
import tui_eval.clients.openai_chat_completions_token, tui_eval.clients.credentials
assert not {{'openai', 'anthropic'}} & set(sys.modules)
from tui_eval.types import ClientConfig
config = ClientConfig(client_type={client_type!r}, api_base_url='http://127.0.0.1:1/v1')
tui_eval.clients.make_client(config, 'key')
assert not {absent!r} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr

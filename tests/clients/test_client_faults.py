"""Messages of failed calls, and the kinds of their errors."""

from __future__ import annotations

import socket
import traceback
from typing import Any

import httpx2
import openai
import pytest
from endpoint_scripts import CHAT_ANSWER, KEY, PATHS, Connect, take
from lazy_modules import LazyModule
from servers import FaultServer, Reply

from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.errors import (
    EmptyModelResponseError,
    ErrorChain,
    InvalidModelResponseError,
    ModelError,
    OverlongPromptError,
)
from tui_eval.messages import UserMessage
from tui_eval.types import ClientConfig

anthropic = LazyModule("anthropic")

PROMPT = [UserMessage(content="hi")]
CHAT = PATHS["openai_chat_completions"]


async def fail(client: Any, kind: type[Exception] = ModelError) -> Exception:
    with pytest.raises(kind) as raised:
        await client.get_response(PROMPT, "m", {"max_tokens": 5})
    return raised.value


@pytest.fixture(params=["short way", "SDK's way"])
def way(request: pytest.FixtureRequest) -> str:
    """Each way of a call in turn."""
    name: str = request.param
    return name


@pytest.mark.parametrize(
    ("status", "name", "advice"),
    [
        (400, "BadRequestError", ""),
        (401, "AuthenticationError", "; check the key"),
        (403, "PermissionDeniedError", "; check the key and what it may do"),
        (
            404,
            "NotFoundError",
            "; check the model's name and the base URL, with or without /v1",
        ),
        (409, "ConflictError", ""),
        (422, "UnprocessableEntityError", ""),
        (429, "RateLimitError", ""),
        (500, "InternalServerError", ""),
    ],
)
async def test_a_status_is_the_sdks_exception_and_says_place_message_and_advice(
    connect: Connect,
    fault_server: FaultServer,
    client_type: str,
    way: str,
    status: int,
    name: str,
    advice: str,
) -> None:
    body = {"type": "error", "error": {"message": "so it is", "type": "some_error"}}
    fault_server.script(PATHS[client_type], [Reply(status, body)])

    async with connect(client_type, max_retries=0) as client:
        error = await fail(take(way, client))

    sdk = openai if client_type.startswith("openai") else anthropic
    assert str(ErrorChain(error)) == f"ModelError -> {name}"
    assert isinstance(error.__cause__, getattr(sdk, name))
    assert error.__cause__.status_code == status
    url = fault_server.url + PATHS[client_type]
    header = "Authorization" if client_type.startswith("openai") else "x-api-key"
    sent = f" (the one that was given, sent in the header {header})" if "key" in advice else ""
    assert str(error) == f"{status} from {url}: so it is{advice}{sent}"


@pytest.mark.parametrize("status", [408, 529])
async def test_rarer_statuses_have_an_exception_too(
    connect: Connect, fault_server: FaultServer, client_type: str, status: int
) -> None:
    fault_server.script(PATHS[client_type], [Reply(status, b"<html>busy</html>")])

    async with connect(client_type, max_retries=0) as client:
        error = await fail(client)

    sdk = openai if client_type.startswith("openai") else anthropic
    assert isinstance(error.__cause__, sdk.APIStatusError)
    assert str(error).endswith("<html>busy</html>")


@pytest.mark.parametrize(
    "body",
    [
        {"error": "so it is"},
        {"message": "so it is"},
        {"detail": "so it is"},
        {"object": "error", "message": "so it is", "code": 404},
        b"so it is",
    ],
)
async def test_the_servers_message_is_found_in_every_shape(
    connect: Connect, fault_server: FaultServer, body: Any
) -> None:
    fault_server.script(CHAT, [Reply(400, body)])

    async with connect() as client:
        error = await fail(client)

    assert str(error).endswith(": so it is")


@pytest.mark.parametrize(
    ("client_type", "message"),
    [
        (
            "openai_chat_completions",
            "This model's maximum context length is 8192 tokens. However, you requested 9000.",
        ),
        ("openai_completions", "This model's maximum context length is 4097 tokens."),
        (
            "openai_responses",
            "Your input exceeds the context window of this model. Please adjust your input.",
        ),
        ("anthropic_messages", "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
async def test_a_prompt_that_does_not_fit_is_an_error_of_its_own(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, message: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(400, {"error": {"message": message}})])

    async with connect(client_type) as client:
        error = await fail(take(way, client), OverlongPromptError)

    assert str(ErrorChain(error)) == "OverlongPromptError -> BadRequestError"
    assert message in str(error)


async def test_a_refused_connection_names_the_endpoint(connect: Connect, way: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

        async with connect(api_base_url=url, max_retries=0) as client:
            error = await fail(take(way, client))

    assert str(error).startswith(f"no connection to {url}/chat/completions: ")
    assert isinstance(error.__cause__, openai.APIConnectionError)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(reset=True), "no connection to {url}: "),
        (Reply(body=CHAT_ANSWER, cut=40), "the answer from {url} broke off: "),
    ],
)
async def test_a_torn_connection_is_a_connection_error(
    connect: Connect, fault_server: FaultServer, way: str, reply: Reply, said: str
) -> None:
    fault_server.script(CHAT, [reply])

    async with connect(max_retries=0) as client:
        error = await fail(take(way, client))

    assert isinstance(error.__cause__, openai.APIConnectionError)
    assert said.format(url=fault_server.url + CHAT) in str(error)


async def test_an_endpoint_that_never_answers_is_given_up(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(hang=True)])

    async with connect(client_type, timeout=0.05) as client:
        error = await fail(take(way, client))

    sdk = openai if client_type.startswith("openai") else anthropic
    assert isinstance(error.__cause__, sdk.APITimeoutError)
    assert "within 0.05 s" in str(error)
    assert len(fault_server.requests) == 1


async def test_a_call_may_have_a_time_of_its_own(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    fault_server.script(CHAT, [Reply(hang=True)])

    async with connect() as client:
        with pytest.raises(ModelError):
            await take(way, client).get_response(PROMPT, "m", {"timeout": 0.05})


@pytest.mark.parametrize("body", [b'{"id": "x", "choices": [', b"<html>hello</html>"])
async def test_an_answer_that_is_no_json_is_invalid_and_not_retried(
    connect: Connect, fault_server: FaultServer, way: str, body: bytes
) -> None:
    fault_server.script(CHAT, [Reply(body=body)])

    async with connect() as client:
        await fail(take(way, client), InvalidModelResponseError)

    assert len(fault_server.requests) == 1


async def test_an_answer_of_another_shape_is_invalid_and_shown(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body={"choices": "none today"})])

    async with connect() as client:
        error = await fail(client, InvalidModelResponseError)

    assert f"{fault_server.url}{CHAT} answered" in str(error)
    assert "none today" in str(error)


@pytest.mark.parametrize("count", [0, 2])
async def test_anything_but_one_choice_is_invalid(
    connect: Connect, fault_server: FaultServer, way: str, count: int
) -> None:
    choices = [{**CHAT_ANSWER["choices"][0], "index": place} for place in range(count)]
    fault_server.script(CHAT, [Reply(body={**CHAT_ANSWER, "choices": choices})])

    async with connect() as client:
        error = await fail(take(way, client), InvalidModelResponseError)

    assert f"{count} choices" in str(error)


async def test_an_empty_answer_that_does_not_say_why_is_an_error(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": None}
    fault_server.script(CHAT, [Reply(body={**CHAT_ANSWER, "choices": [choice]})])

    async with connect() as client:
        await fail(take(way, client), EmptyModelResponseError)


async def test_a_redirect_is_reported_and_not_followed(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    there = f"{fault_server.url}/elsewhere"
    fault_server.script(CHAT, [Reply(307, b"", {"Location": there})])

    async with connect() as client:
        error = await fail(take(way, client))

    assert f"moved to {there}" in str(error)
    assert [request.path for request in fault_server.requests] == [CHAT]


async def test_an_answer_that_trickles_in_has_no_more_time_than_another(
    connect: Connect, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=CHAT_ANSWER, drip=0.02)])

    async with connect(timeout=0.15) as client:
        error = await fail(client)

    assert "within 0.15 s" in str(error)


async def test_an_unusable_sampling_argument_is_a_model_error_that_names_it(
    connect: Connect,
) -> None:
    async with connect() as client:
        with pytest.raises(ModelError, match="`n` is 1"):
            await client.get_response(PROMPT, "m", {"n": 4})


@pytest.mark.parametrize(
    "body", [{"error": {"message": f"wrong key {KEY}"}}, KEY.encode(), f"wrong {KEY}, " * 90]
)
async def test_the_key_is_in_no_text_of_an_error(
    connect: Connect, fault_server: FaultServer, client_type: str, way: str, body: Any
) -> None:
    fault_server.script(PATHS[client_type], [Reply(401, body)])

    async with connect(client_type) as client:
        error = await fail(take(way, client))
        shown = "".join(traceback.format_exception(error)) + repr(ErrorChain(error)) + repr(client)

    assert isinstance(error.__cause__, openai.AuthenticationError | anthropic.AuthenticationError)
    shown += str(error.__cause__.body) + repr(vars(client).get("_endpoint"))
    assert "[redacted]" in shown
    assert KEY[:12] not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Proxy-Token", "hunter2-hunter2"),
        ("Authorization", "bearer hunter2-hunter2"),
        ("Authorization", "Api-Key hunter2-hunter2"),
    ],
)
async def test_secret_headers_and_answers_that_echo_them_are_hidden_too(
    connect: Connect, fault_server: FaultServer, name: str, value: str
) -> None:
    fault_server.script(CHAT, [Reply(body=b"your token hunter2-hunter2 is odd")])

    async with connect(extra_headers={name: value}) as client:
        error = await fail(client, InvalidModelResponseError)

    assert "your token [redacted] is odd" in str(error)


async def test_what_an_overridden_call_raises_is_a_model_error() -> None:
    class Broken(OpenAIChatCompletionsClient):
        async def get_native_response(self, *args: Any, **kwargs: Any) -> Any:
            raise httpx2.ReadError("the line was cut")

    client = Broken(ClientConfig(api_base_url="http://127.0.0.1:9/v1"), api_key=KEY)

    error = await fail(client)
    await client.close()

    assert "ReadError: the line was cut" in str(error)

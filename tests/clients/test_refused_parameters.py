"""Requests once an endpoint has refused a parameter."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from endpoint_scripts import PATHS, Connect, take
from ruled_endpoint import (
    RuledEndpoint,
    groq_refusal,
    openai_refusal,
    pydantic_refusal,
)

from tui_eval.clients.base import Client
from tui_eval.errors import ModelError
from tui_eval.messages import AssistantMessage, UserMessage

PROMPT = [UserMessage(content="hi")]
CHAT = "openai_chat_completions"
RESPONSES = "openai_responses"


async def ask(client: Any, prompt: Any = PROMPT, **sampling: Any) -> str:
    response = await client.get_response(prompt, "m", sampling)
    return str(response.message.content)


def limits(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: one[key] for key in one if key.startswith("max_")} for one in bodies]


def only_completion_tokens(body: dict[str, Any]) -> tuple[int, Any] | None:
    if "max_tokens" not in body:
        return None
    return openai_refusal(
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    )


def only_tokens(body: dict[str, Any]) -> tuple[int, Any] | None:
    return pydantic_refusal(("max_completion_tokens",)) if "max_completion_tokens" in body else None


@pytest.mark.parametrize("way", ["short way", "SDK's way", "streamed"])
async def test_a_refused_limit_is_sent_under_its_other_name_from_then_on(
    connect: Connect, way: str
) -> None:
    with RuledEndpoint(only_completion_tokens) as endpoint:
        url = f"{endpoint.url}/v1"
        async with connect(CHAT, api_base_url=url, stream=way == "streamed") as client:
            answers = [await ask(take(way, client), max_tokens=5) for _ in range(3)]

    assert answers == ["ok"] * 3
    first, second = {"max_tokens": 5}, {"max_completion_tokens": 5}
    assert limits(endpoint.bodies) == [first, second, second, second]


async def test_what_was_typed_is_tried_first_and_then_answered_by_what_is_known(
    connect: Connect,
) -> None:
    with RuledEndpoint(only_tokens) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            assert await ask(client, max_completion_tokens=5) == "ok"

    assert limits(endpoint.bodies) == [{"max_completion_tokens": 5}, {"max_tokens": 5}]


async def test_an_endpoint_that_takes_neither_name_gets_two_requests_and_is_reported(
    connect: Connect,
) -> None:
    with RuledEndpoint(lambda body: only_tokens(body) or only_completion_tokens(body)) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            with pytest.raises(ModelError, match="max_completion_tokens") as raised:
                await ask(client, max_tokens=5)

    assert """-S '{"max_completion_tokens": null}'""" in str(raised.value)
    assert len(endpoint.bodies) == 2


async def test_rollouts_that_are_refused_at_the_same_time_all_get_their_answer(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    with RuledEndpoint(only_completion_tokens) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            answers = await asyncio.gather(*[ask(client, max_tokens=5) for _ in range(8)])

    assert answers == ["ok"] * 8
    assert len(endpoint.bodies) <= 16
    assert [one.message for one in caplog.records if "max_tokens" in one.message] == [
        f"{client!r} does not take max_tokens for m; max_completion_tokens is sent in its place"
    ]


@pytest.mark.parametrize(
    "reported",
    [
        "max_tokens is too large: 5. This model supports at most 4 completion tokens.",
        "max_tokens must be at least 16",
    ],
)
async def test_a_limit_whose_value_is_refused_keeps_its_name(
    connect: Connect, reported: str
) -> None:
    with RuledEndpoint(lambda body: openai_refusal("max_tokens", reported)) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            with pytest.raises(ModelError, match="max_tokens"):
                await ask(client, max_tokens=5)

    assert len(endpoint.bodies) == 1


REPORTED = [
    openai_refusal("temperature", "Unsupported value: 'temperature' does not support 0.7"),
    (400, {"error": {"message": "Unknown parameter: 'temperature'."}}),
    (400, {"error": "Unrecognized request argument supplied: temperature"}),
    (400, {"message": "`temperature` is deprecated for this model."}),
    pydantic_refusal(("temperature",)),
    (400, {"error": {"message": 'Invalid JSON payload received. Unknown name "temperature"'}}),
]


@pytest.mark.parametrize("refusal", REPORTED)
@pytest.mark.parametrize("kind", [kind for kind in PATHS if not kind.endswith("_token")])
async def test_a_refusal_of_another_parameter_says_how_to_turn_it_off(
    connect: Connect, kind: str, refusal: tuple[int, Any]
) -> None:
    with RuledEndpoint(lambda body: refusal if "temperature" in body else None) as endpoint:
        async with connect(kind, api_base_url=f"{endpoint.url}/v1") as client:
            with pytest.raises(ModelError) as raised:
                await ask(client, temperature=0.7, max_tokens=5)
            assert await ask(client, temperature=None, max_tokens=5) == "ok"

    assert """-S '{"temperature": null}'""" in str(raised.value)


@pytest.mark.parametrize(
    "reported",
    [
        "Invalid value for 'messages': expected a list",
        "The model `m` does not exist",
        "something is not supported",
    ],
)
async def test_a_refusal_that_names_no_parameter_of_the_request_is_reported_as_it_is(
    connect: Connect, reported: str
) -> None:
    with RuledEndpoint(lambda body: (400, {"error": {"message": reported}})) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            with pytest.raises(ModelError) as raised:
                await ask(client, max_tokens=5)

    assert str(raised.value).endswith(reported)


@pytest.mark.parametrize("refuse", ["groq", "pydantic"])
async def test_refused_reasoning_is_left_out_from_then_on(connect: Connect, refuse: str) -> None:
    def rule(body: dict[str, Any]) -> tuple[int, Any] | None:
        for place, message in enumerate(body["messages"]):
            if "reasoning_content" in message:
                if refuse == "groq":
                    return groq_refusal(place, "reasoning_content")
                return pydantic_refusal(("messages", place, "assistant", "reasoning_content"))
        return None

    said = AssistantMessage(content="a", reasoning_content="hm")
    with RuledEndpoint(rule) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            for _ in range(2):
                assert await ask(client, [*PROMPT, said, said, *PROMPT]) == "ok"

    assert ["reasoning_content" in body["messages"][1] for body in endpoint.bodies] == [
        True,
        False,
        False,
    ]


async def test_reasoning_that_is_missed_is_not_left_out(connect: Connect) -> None:
    reported = "Missing `reasoning_content` field in the assistant message at message index 1"
    said = AssistantMessage(content="a", reasoning_content="hm")
    with RuledEndpoint(lambda body: (400, {"error": {"message": reported}})) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            with pytest.raises(ModelError) as raised:
                await ask(client, [*PROMPT, said, *PROMPT])

    assert str(raised.value).endswith(reported)
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize("name", ["n", "stream"])
async def test_what_nobody_typed_is_left_out_where_it_is_refused(
    connect: Connect, name: str
) -> None:
    with RuledEndpoint(lambda body: pydantic_refusal((name,)) if name in body else None) as one:
        async with connect(CHAT, api_base_url=f"{one.url}/v1") as client:
            assert await ask(client) == "ok"

    assert [name in body for body in one.bodies] == [True, False]


async def test_several_refusals_of_one_request_are_answered_one_by_one(connect: Connect) -> None:
    def rule(body: dict[str, Any]) -> tuple[int, Any] | None:
        bad = [(name,) for name in ("n", "max_completion_tokens") if name in body]
        return pydantic_refusal(*bad) if bad else None

    with RuledEndpoint(rule) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            assert await ask(client, max_completion_tokens=5) == "ok"
            assert await ask(client, max_completion_tokens=5) == "ok"

    assert len(endpoint.bodies) == 4


def test_a_client_says_what_it_sends_to_the_providers_own_hosts() -> None:
    from tui_eval.clients import make_client
    from tui_eval.types import ClientConfig

    def limit(url: str, **given: Any) -> str:
        client: Client[Any, Any, Any, Any] = make_client(
            ClientConfig(api_base_url=url, api_key_var="", **given)
        )
        return client.profile("m").token_limit

    completion, plain = "max_completion_tokens", "max_tokens"
    assert limit("https://api.openai.com/v1") == completion
    assert limit("https://eu.api.openai.com/v1") == completion
    assert limit("https://mine.openai.azure.com/openai/v1") == completion
    assert limit("https://mine.cognitiveservices.azure.com/openai/v1") == completion
    assert limit("https://api.deepseek.com/v1") == plain
    assert limit("http://localhost:8000/v1") == plain
    assert limit("https://api.openai.com.example.org/v1") == plain
    assert limit("http://localhost:8000/v1", token_limit=completion) == completion
    assert limit("https://api.openai.com/v1", token_limit=plain) == plain

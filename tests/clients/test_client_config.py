"""A config with replicas, and what may stand for a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lazy_modules import LazyModule
from openai import AsyncAzureOpenAI, AsyncOpenAI
from pydantic import ValidationError
from servers import FaultServer, Reply

from tui_eval.client_config import EndpointClientConfig
from tui_eval.clients import make_client, resolve_client
from tui_eval.clients.anthropic_messages import AnthropicMessagesClient
from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.clients.openai_chat_completions_token import OpenAIChatCompletionsTokenClient
from tui_eval.clients.openai_completions import OpenAICompletionsClient
from tui_eval.clients.openai_responses import OpenAIResponsesClient
from tui_eval.errors import RefusedError
from tui_eval.messages import UserMessage
from tui_eval.types import ClientConfig

anthropic = LazyModule("anthropic")

CLASSES = {
    "openai_chat_completions": OpenAIChatCompletionsClient,
    "openai_completions": OpenAICompletionsClient,
    "openai_chat_completions_token": OpenAIChatCompletionsTokenClient,
    "openai_responses": OpenAIResponsesClient,
    "anthropic_messages": AnthropicMessagesClient,
}


def config_of(**settings: Any) -> ClientConfig:
    return ClientConfig.model_validate(settings)


def test_a_config_without_replicas_is_its_own_endpoint() -> None:
    config = config_of(api_base_url="http://a/v1")

    assert config.per_endpoint() == [config]


def test_a_replica_has_its_own_settings_and_else_those_of_all() -> None:
    config = config_of(
        client_type="anthropic_messages",
        api_key_var="ALL",
        timeout=7,
        extra_headers={"x": "1"},
        endpoint_configs=[
            EndpointClientConfig(api_base_url="http://a/v1"),
            {"api_base_url": "http://b/v1", "api_key_var": "", "timeout": 9},
            ClientConfig(api_base_url="http://c/v1", client_type="openai_responses"),
        ],
    )

    found = [
        (one.api_base_url, one.api_key_var, one.timeout, one.extra_headers, one.client_type)
        for one in config.per_endpoint()
    ]

    assert found == [
        ("http://a/v1", "ALL", 7, {"x": "1"}, "anthropic_messages"),
        ("http://b/v1", "", 9, {"x": "1"}, "anthropic_messages"),
        ("http://c/v1", "ALL", 7, {"x": "1"}, "anthropic_messages"),
    ]
    assert not any(one.endpoint_configs for one in config.per_endpoint())


def test_a_replica_that_sets_the_default_again_overrides() -> None:
    replica = EndpointClientConfig(api_base_url="http://a/v1", timeout=3600.0)

    assert config_of(timeout=5, endpoint_configs=[replica]).per_endpoint()[0].timeout == 3600.0


def test_a_key_that_nobody_names_stays_unnamed_in_each_replica() -> None:
    config = config_of(endpoint_configs=[{"api_base_url": "http://a/v1"}])

    assert "api_key_var" not in config.per_endpoint()[0].model_fields_set


def test_replicas_of_replicas_are_refused() -> None:
    inner = {"api_base_url": "http://a/v1"}
    for nested in ({"endpoint_configs": [inner]}, config_of(endpoint_configs=[inner])):
        with pytest.raises(ValidationError, match="cannot include endpoint_configs"):
            config_of(endpoint_configs=[nested])


def test_one_client_speaks_to_one_endpoint() -> None:
    one, two = {"api_base_url": "http://a/v1"}, {"api_base_url": "http://b/v1"}

    made = make_client(config_of(api_base_url="http://all/v1", endpoint_configs=[one]), "")

    assert made.config is not None and made.config.api_base_url == "http://a/v1"
    with pytest.raises(RefusedError, match=r"2 endpoints.*per_endpoint"):
        make_client(config_of(endpoint_configs=[one, two]), "")


@pytest.mark.parametrize("client_type", list(CLASSES))
def test_each_type_has_its_class(client_type: str) -> None:
    config = config_of(client_type=client_type, api_base_url="http://127.0.0.1:1/v1")

    assert type(make_client(config, "")) is CLASSES[client_type]
    assert type(resolve_client(config)) is CLASSES[client_type]


def test_a_client_stands_for_itself() -> None:
    client = make_client(config_of(api_base_url="http://127.0.0.1:1/v1"), "")

    assert resolve_client(client) is client


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: AsyncOpenAI(api_key="k"), OpenAIChatCompletionsClient),
        (
            lambda: AsyncAzureOpenAI(api_key="k", azure_endpoint="https://x", api_version="1"),
            OpenAIChatCompletionsClient,
        ),
        (lambda: anthropic.AsyncAnthropic(api_key="k"), AnthropicMessagesClient),
    ],
)
def test_a_client_of_an_sdk_is_wrapped(make: Callable[[], Any], kind: type[Any]) -> None:
    sdk = make()
    client = resolve_client(sdk)

    assert type(client) is kind
    assert client.client is sdk


async def test_a_wrapped_client_calls_by_its_own_settings(fault_server: FaultServer) -> None:
    answer = {"id": "x", "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    fault_server.script("/v9/chat/completions", [Reply(body=answer)])
    client = resolve_client(AsyncOpenAI(api_key="k", base_url=f"{fault_server.url}/v9"))

    response = await client.get_response([UserMessage(content="hi")], "m", {})
    await client.close()

    assert response.message.content == "ok"


@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: "http://127.0.0.1/v1",
        lambda: {"a": 1},
        lambda: anthropic.Anthropic(api_key="k"),
    ],
)
def test_anything_else_is_refused_with_what_is_accepted(make: Callable[[], Any]) -> None:
    value = make()
    with pytest.raises(TypeError, match=f"ClientConfig.*not {type(value).__name__}"):
        resolve_client(value)

"""Clients: one protocol of model endpoints each."""

from __future__ import annotations

import importlib
import sys
from typing import Any, TypeAlias

from tui_eval.clients.base import Client
from tui_eval.types import ClientConfig, ClientType

AnyClient: TypeAlias = Client[Any, Any, Any, Any]


def make_client(config: ClientConfig, api_key: str | None = None) -> AnyClient:
    """The client of a config; only its own provider's SDK is imported.

    Args:
        config: The endpoint and its protocol.
        api_key: The key; without it, what `credentials_of` finds.

    Raises:
        RefusedError: The config names no URL or several, or its key cannot be found.
    """
    made: AnyClient = _class_of(config.client_type)(config, api_key=api_key)
    return made


def resolve_client(client_or_config: Any) -> AnyClient:
    """A client from a client, a config or an SDK's client.

    Args:
        client_or_config: A `Client`, which is returned as it is; a `ClientConfig`; or an
            `AsyncOpenAI` or `AsyncAnthropic`, which is used with its own retries.

    Raises:
        TypeError: It is none of these.
        RefusedError: As for `make_client`.
    """
    if isinstance(client_or_config, Client):
        return client_or_config
    if isinstance(client_or_config, ClientConfig):
        return make_client(client_or_config)
    kind = _kind_of_sdk_client(client_or_config)
    if kind is not None:
        made: AnyClient = _class_of(kind)(client_or_config)
        return made
    accepted = "Client, a ClientConfig, an AsyncOpenAI or an AsyncAnthropic"
    raise TypeError(f"a client is a {accepted}, not {type(client_or_config).__name__}")


def _class_of(kind: ClientType) -> Any:
    """The client that the module with the protocol's name defines."""
    home = f"{__name__}.{kind}"
    named = vars(importlib.import_module(home)).items()
    return next(it for name, it in named if name.endswith("Client") and it.__module__ == home)


def _kind_of_sdk_client(value: Any) -> ClientType | None:
    # Whoever has an object of an SDK has imported it; nothing is imported to find out.
    openai, anthropic = sys.modules.get("openai"), sys.modules.get("anthropic")
    if openai is not None and isinstance(value, openai.AsyncOpenAI):
        return "openai_chat_completions"
    if anthropic is not None and isinstance(value, anthropic.AsyncAnthropic):
        return "anthropic_messages"
    return None

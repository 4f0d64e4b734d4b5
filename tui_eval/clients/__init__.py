"""Clients: one protocol of model endpoints each."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.base import Client
from tui_eval.types import ClientConfig


def make_client(config: ClientConfig, api_key: str | None = None) -> Client[Any, Any, Any, Any]:
    """The client that a config asks for; only its own provider's SDK is imported.

    Args:
        config: The endpoint and its protocol.
        api_key: The key; without it, the value of the config's `api_key_var`.

    Raises:
        RefusedError: The config names no URL, or a key variable that is not set.
    """
    if config.client_type == "anthropic_messages":
        from tui_eval.clients.anthropic_messages import AnthropicMessagesClient

        return AnthropicMessagesClient(config, api_key=api_key)
    from tui_eval.clients.openai_chat import OpenAIChatCompletionsClient

    return OpenAIChatCompletionsClient(config, api_key=api_key)

"""What providers understand of a request, as one table.

A provider that is not here gets what most understand. What an endpoint refuses all the same is
learnt from its answer (see `refused_parameters`); what a registry says of it wins over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from tui_eval.client_config import EndpointClientConfig

AS_RECEIVED = "as_received"
"""Stands for the name under which reasoning came."""
NOT_SENT = "none"
"""Stands for no name: reasoning is not sent back."""
ENCRYPTED = "reasoning.encrypted_content"
"""What brings encrypted reasoning, in what the responses API is asked to include."""
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
REASONING_FIELDS = (
    *(AS_RECEIVED, NOT_SENT),
    *("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"),
)


class ProviderProfile(msgspec.Struct, frozen=True):
    """How requests to one endpoint are written.

    Args:
        token_limit: What chat completions call the most tokens of an answer.
        reasoning_field: Under which name chat messages take reasoning back.
        encrypted_reasoning: Whether the responses API is asked for encrypted reasoning where it
            stores nothing, so that the model sees its own thoughts again.
        key_header: The header that has the key; empty for `Authorization`.
    """

    token_limit: str = "max_tokens"
    reasoning_field: str = AS_RECEIVED
    encrypted_reasoning: bool = True
    key_header: str = ""


class ProviderRule(msgspec.Struct, frozen=True):
    """What holds at some hosts.

    Args:
        hosts: Their names, with `*` for any beginning.
        changes: Fields of the profile.
        models: What the names of the models begin with for which it holds; empty for all.
    """

    hosts: tuple[str, ...]
    changes: Mapping[str, Any] = msgspec.field(default_factory=dict)
    models: tuple[str, ...] = ("",)


_OPENAI = ("api.openai.com", "*.api.openai.com")
_AZURE = ("*.openai.azure.com", "*.cognitiveservices.azure.com")

PROVIDER_RULES = (
    ProviderRule(_OPENAI + _AZURE, {"token_limit": "max_completion_tokens"}),
    ProviderRule(_AZURE, {"key_header": "api-key"}),
    # These do not reason, and refuse requests for what they thought.
    ProviderRule(_OPENAI, {"encrypted_reasoning": False}, ("gpt-3.5", "gpt-4", "chatgpt-")),
)
"""The table; of several rules that fit all hold, the last one most."""


def profile_of(
    url: str, model: str = "", config: EndpointClientConfig | None = None
) -> ProviderProfile:
    """The profile of a model at an endpoint.

    Args:
        config: What was set for it wins.
    """
    host = urlsplit(url).hostname or ""
    profile = ProviderProfile()
    for rule in PROVIDER_RULES:
        if model.startswith(rule.models) and any(fnmatchcase(host, one) for one in rule.hosts):
            profile = replace(profile, **rule.changes)
    given = {name: getattr(config, name, None) for name in ProviderProfile.__struct_fields__}
    return replace(profile, **{name: value for name, value in given.items() if value is not None})

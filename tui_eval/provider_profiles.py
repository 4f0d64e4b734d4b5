"""Request parameters that providers understand, as one table.

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
"""In place of a name: that under which reasoning came."""
NOT_SENT = "none"
"""In place of a name: reasoning is not sent back."""
ENCRYPTED = "reasoning.encrypted_content"
"""The item of `include` that requests encrypted reasoning from the responses API."""


class ProviderProfile(msgspec.Struct, frozen=True):
    """The spelling of requests to one endpoint.

    Args:
        token_limit: The name of the limit of an answer's tokens in chat completions.
        reasoning_field: The name under which chat messages take reasoning back.
        encrypted_reasoning: Whether encrypted reasoning is requested of the responses API where it
            stores nothing, so that the model sees its own thoughts again.
        key_header: The header that has the key; empty for `Authorization`.
    """

    token_limit: str = "max_tokens"
    reasoning_field: str = AS_RECEIVED
    encrypted_reasoning: bool = True
    key_header: str = ""


class ProviderRule(msgspec.Struct, frozen=True):
    """A profile of some hosts.

    Args:
        hosts: Their names, with `*` for any beginning.
        changes: Fields of the profile.
        models: Beginnings of the names of the models for which it holds; empty for all.
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
        config: Its settings win.
    """
    host = urlsplit(url).hostname or ""
    profile = ProviderProfile()
    for rule in PROVIDER_RULES:
        if model.startswith(rule.models) and any(fnmatchcase(host, one) for one in rule.hosts):
            profile = replace(profile, **rule.changes)
    given = {name: getattr(config, name, None) for name in ProviderProfile.__struct_fields__}
    return replace(profile, **{name: value for name, value in given.items() if value is not None})

"""The protocols that clients speak, and names of their requests: each as a type and as a tuple.

A protocol is the name of the module in `clients/` that speaks it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

ClientType: TypeAlias = Literal[
    "openai_chat_completions",
    "openai_completions",
    "openai_chat_completions_token",
    "openai_responses",
    "anthropic_messages",
]
"""The protocols that clients speak."""
CLIENT_TYPES: tuple[ClientType, ...] = get_args(ClientType)

TokenLimit: TypeAlias = Literal["max_tokens", "max_completion_tokens"]
"""The name of the limit of an answer's tokens in chat completions."""
TOKEN_LIMITS: tuple[TokenLimit, ...] = get_args(TokenLimit)

ReasoningField: TypeAlias = Literal[
    "as_received",
    "none",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking_blocks",
]
"""Under which name chat messages take reasoning back."""
REASONING_FIELDS: tuple[ReasoningField, ...] = get_args(ReasoningField)

"""Providers of models, and those that `-p` knows by name."""

from __future__ import annotations

import os

import msgspec

from tui_eval.config.endpoints import DEFAULT_TYPE


class Provider(msgspec.Struct, frozen=True):
    """A provider that serves models.

    Args:
        var: Name of the environment variable that holds the key; empty where none is needed.
        key_optional: Whether it also serves who has no key.
    """

    url: str
    var: str
    client_type: str = DEFAULT_TYPE
    key_optional: bool = False

    @property
    def key_var(self) -> str:
        """The variable to read; empty where it is not set and need not be."""
        return "" if self.key_optional and not os.environ.get(self.var) else self.var


_LOCAL = Provider("http://localhost:8000/v1", "VLLM_API_KEY", key_optional=True)

PROVIDER_TABLE = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic_messages"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "prime": Provider("https://api.pinference.ai/api/v1", "PRIME_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "glm": Provider("https://open.bigmodel.cn/api/paas/v4", "GLM_API_KEY"),
    "minimax": Provider("https://api.minimax.chat/v1", "MINIMAX_API_KEY"),
    "local": _LOCAL,
    "vllm": _LOCAL,
}
"""Providers by the name that is typed."""

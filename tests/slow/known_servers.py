"""Servers of others that speak the protocols: how they are started and called."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from third_party_packages import Package, Server

PROXY_KEY = "sk-proxy-0123456789abcdef0123456789abcdef"
LIMIT_A_MINUTE = 60
LLAMA_CPP = Package("llama.cpp", ("xllamacpp==2026.10.11549", "gguf==0.19.0", "numpy==2.4.6"))
LITELLM = Package("litellm", ("litellm[proxy]==1.108.7",))
LLMOCK = Package("llmock", ("llmock==0.2.2",))


@dataclass(frozen=True)
class Other:
    """A server that is up, and how it is asked.

    Args:
        server: Its process.
        model: Name of the model that calls `roll` in every turn.
        bases: Path of the base URL, by protocol; those that are not here it does not speak.
        key: Of an environment variable, or no key.
        sampling: Arguments that have it call a tool, by protocol.
    """

    server: Server
    model: str
    bases: dict[str, str]
    key: str = ""
    sampling: dict[str, object] | None = None

    def flags_of(self, protocol: str, model: str = "") -> list[str]:
        """Flags of a run against it."""
        base = self.server.url + self.bases[protocol]
        flags = ["-m", model or self.model, "-b", base, "-k", "PROXY_KEY" if self.key else ""]
        if self.sampling is not None:
            flags += ["-S", json.dumps(self.sampling[protocol])]
        return [*flags, "--api-client-type", protocol]


def llama_server(model: Path, folder: Path, context: int = 4096) -> Server:
    """llama.cpp's server, with so many tokens a slot."""
    python = str(LLAMA_CPP.installed() / "python")
    script = str(Path(__file__).with_name("serve_tiny_model.py"))
    command = [python, script, str(model), "{port}", str(context)]
    return Server(command, "/health", folder / "llama.log")


def proxy_settings(behind: str) -> dict[str, object]:
    """Configuration of LiteLLM's proxy: JSON is YAML."""
    served = {"model": "lm_studio/dice", "api_base": f"{behind}/v1", "api_key": "sk-any"}
    mocked = {"model": "openai/gpt-4.1", "api_key": "sk-any"}
    return {
        "model_list": [
            {"model_name": "dice", "litellm_params": served},
            {
                "model_name": "limited",
                "litellm_params": {**mocked, "mock_response": "four", "rpm": LIMIT_A_MINUTE},
            },
        ],
        "router_settings": {
            "num_retries": 0,
            "optional_pre_call_checks": ["enforce_model_rate_limits"],
        },
    }


def llmock_server(folder: Path, *args: str) -> Server:
    """LLMock with these flags."""
    program = str(LLMOCK.installed() / "llmock")
    command = [program, "serve", "--port", "{port}", "--log-level", "warning", *args]
    return Server(command, "/health", folder / "llmock.log")


def llmock_of(server: Server) -> Other:
    required: dict[str, object] = {"tool_choice": "required"}
    return Other(
        server,
        "gpt-4o",
        {
            "openai_chat_completions": "/v1",
            "openai_responses": "/v1",
            "anthropic_messages": "/anthropic",
        },
        sampling={
            "openai_chat_completions": required,
            "openai_responses": required,
            "anthropic_messages": {"tool_choice": {"type": "any"}},
        },
    )

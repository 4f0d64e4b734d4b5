"""Models by the names that LiteLLM has for them, `provider/model`, where it may be installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui_eval.config.endpoints import EMBEDDED, read_registry, registry_path
from tui_eval.config.local_servers import find_servers
from tui_eval.config.providers import PROVIDER_TABLE, Provider
from tui_eval.errors import Fault, nearest
from tui_eval.install_commands import extra_command

if TYPE_CHECKING:
    from tui_eval.config.plan import Request

PROVIDERS: dict[str, Provider] = {
    "anthropic": PROVIDER_TABLE["anthropic"],
    "cerebras": Provider("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepseek": PROVIDER_TABLE["deepseek"],
    "fireworks_ai": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1", ""),
    "ollama_chat": Provider("http://localhost:11434/v1", ""),
    "openai": PROVIDER_TABLE["openai"],
    "openrouter": PROVIDER_TABLE["openrouter"],
    "together_ai": Provider("https://api.together.ai/v1", "TOGETHERAI_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
}
"""Providers that are known without LiteLLM, by its names."""

OPENAI_URL_VARS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Names of the environment variables with another URL for OpenAI's models; the first one wins."""

_OPENAI = "openai/"
_NEED_LOGIN = frozenset({"chatgpt", "github_copilot"})
"""Providers at which LiteLLM logs in when it looks up one of their models."""


def name_model(request: Request) -> list[Fault]:
    """Puts URL, key variable and protocol in place of LiteLLM's name of a model.

    An alias of the registry stays as it is. A model with a URL is one of OpenAI's protocol there,
    whose name may say so: `openai/NAME` is NAME. Where a variable names a URL for OpenAI's models
    they are there, and a name without a provider is one of them. The package is imported for other
    providers than those of the table only.

    Returns:
        Why the name cannot be used; a stand-in takes its place then, so that this is reported once.
    """
    raw = request.raw
    model = raw.get("model")
    if not model:
        return []
    aliases, unreadable = read_registry(registry_path(raw.get("endpoints_path")))
    if raw.get("api_base_url"):
        if model not in aliases:
            raw["model"] = model.removeprefix(_OPENAI) or model
        return []
    if unreadable or model in aliases:
        return []
    found = _in_table(model) or _known_to_litellm(model)
    if isinstance(found, Fault):
        offers = [f"{server.offer(model, '--model')}." for server in find_servers()]
        hints = [_near(model, aliases), *offers, "Or name its URL with --base-url.", found.hint]
        hint = " ".join(filter(None, hints))
        raw |= {"model": "demo", "api_base_url": EMBEDDED}
        return [Fault("--model", found.what, hint)]
    provider, name = found
    request.raw = {
        "api_key_var": provider.key_var,
        **raw,
        "model": name,
        "api_base_url": provider.url,
        "api_client_type": provider.client_type,
    }
    return []


def _near(model: str, aliases: Any) -> str:
    prefix, _, own_name = model.rpartition("/")
    providers = PROVIDERS if prefix else ("openai",)  # what LiteLLM takes a bare name for
    return nearest(model, [*aliases, *(f"{name}/{own_name}" for name in providers)])


def _in_table(model: str) -> tuple[Provider, str] | None:
    prefix, slash, name = model.partition("/")
    provider = PROVIDERS.get(prefix)
    url = next(filter(None, map(os.environ.get, OPENAI_URL_VARS)), None)
    if not slash and url:
        provider, name = PROVIDERS["openai"], model
    if provider is None or not name:
        return None
    if url and provider is PROVIDERS["openai"]:
        provider = replace(provider, url=url.rstrip("/"))
    return provider, name


def _known_to_litellm(model: str) -> tuple[Provider, str] | Fault:
    """The provider that LiteLLM says, and its own name of the model; or why there is none."""
    unknown = f"{model!r} is no alias of the endpoint registry, and no provider/model that we reach"
    # Otherwise the import requests prices from a host that nobody named.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError:
        hint = f"Known are {', '.join(PROVIDERS)}; others with {extra_command('litellm')}"
        return Fault("--model", unknown, hint)
    litellm.suppress_debug_info = True
    prefix = model.partition("/")[0]
    try:
        if prefix in _NEED_LOGIN:
            name, provider, key, url = model, prefix, None, None
        else:
            name, provider, key, url = litellm.get_llm_provider(model)
    except Exception:  # it raises an answer of status 400
        return Fault("--model", unknown)
    if provider in PROVIDERS:
        return PROVIDERS[provider], name
    if provider not in litellm.openai_compatible_providers or not url:
        what = "whose endpoint is not known to speak OpenAI's protocol"
        return Fault("--model", f"{model!r} is served by {provider}, {what}")
    return Provider(url.rstrip("/"), _key_var(litellm, model, provider, key)), name


def _key_var(litellm: Any, model: str, provider: str, key: str | None) -> str:
    """The variable that LiteLLM read a provider's key from, or would have."""
    if key:  # one of its own making stands for none
        return next((name for name, value in sorted(os.environ.items()) if value == key), "")
    wanted = litellm.validate_environment(model)["missing_keys"]
    return wanted[-1] if wanted else f"{provider.upper().replace('-', '_')}_API_KEY"

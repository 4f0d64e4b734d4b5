"""`verifiers.utils.client_utils`: clients of the providers' SDKs from our settings."""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Any

from tui_eval.own_folders import home_folder
from tui_eval.types import ClientConfig

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from httpx2 import AsyncClient
    from openai import AsyncOpenAI

logger = logging.getLogger(__name__)


def resolve_client_config(config: ClientConfig) -> ClientConfig:
    """The config of one endpoint: of several the one that `client_idx` names, counted in turns."""
    configs = resolve_client_configs(config)
    return configs[config.client_idx % len(configs)]


def resolve_client_configs(config: ClientConfig) -> list[ClientConfig]:
    """One config for each endpoint."""
    return [one.model_copy() for one in config.per_endpoint()]


def load_prime_config() -> dict[str, Any]:
    """Settings of Prime's command line in `~/.prime/config.json`; empty where there are none."""
    file = home_folder() / ".prime" / "config.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8-sig")) if file.exists() else {}
    except (OSError, ValueError) as error:
        logger.warning("%s cannot be read: %s", file, error)
        return {}
    if not isinstance(found, dict):
        logger.warning("%s holds no object", file)
        return {}
    return found


def setup_http_client(config: ClientConfig) -> AsyncClient:
    """An HTTP client with a config's time-outs, limits and headers."""
    one = resolve_client_config(config)
    return _http_client(one, _headers_and_key(one)[0])


def setup_openai_client(config: ClientConfig) -> AsyncOpenAI:
    """OpenAI's async client for a config's endpoint; the key `EMPTY` where none is set."""
    from openai import AsyncOpenAI

    return AsyncOpenAI(**_arguments(config))


def setup_anthropic_client(config: ClientConfig) -> AsyncAnthropic:
    """Anthropic's async client for a config's endpoint; the key `EMPTY` where none is set."""
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(**_arguments(config))


def _arguments(config: ClientConfig) -> dict[str, Any]:
    one = resolve_client_config(config)
    headers, key = _headers_and_key(one)
    return {
        "api_key": key or "EMPTY",
        "base_url": one.api_base_url or None,
        "max_retries": one.max_retries,
        "http_client": _http_client(one, headers),
    }


def _http_client(config: ClientConfig, headers: dict[str, str]) -> AsyncClient:
    from httpx2 import AsyncClient, Limits, Timeout

    limits = Limits(
        max_connections=config.max_connections,
        max_keepalive_connections=config.max_keepalive_connections,
    )
    timeout = Timeout(config.timeout, connect=config.connect_timeout)
    return AsyncClient(limits=limits, timeout=timeout, headers=headers)


def _headers_and_key(config: ClientConfig) -> tuple[dict[str, str], str]:
    headers, key = dict(config.extra_headers), os.environ.get(config.api_key_var, "")
    if config.api_key_var == "PRIME_API_KEY":
        kept = load_prime_config()
        key = key or str(kept.get("api_key") or "")
        if team := os.environ.get("PRIME_TEAM_ID") or kept.get("team_id"):
            headers["X-Prime-Team-ID"] = str(team)
    return headers, key

"""The base of clients that speak one of OpenAI's protocols."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic

from tui_eval.clients.base import MessagesT
from tui_eval.clients.sdk_client import NO_KEY, SdkClient, text_headers
from tui_eval.clients.sdks import exceptions_of, is_current, needed_sdk
from tui_eval.provider_profiles import profile_of
from tui_eval.types import ClientConfig

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SETTINGS_OF_THE_SDK = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")


class OpenAISdkClient(SdkClient["AsyncOpenAI", MessagesT, dict[str, Any]], Generic[MessagesT]):
    """A client that calls over OpenAI's SDK; see `Client`."""

    def sdk(self) -> ModuleType:
        """OpenAI's SDK, or its exceptions where there is none."""
        return exceptions_of("openai")

    def sdk_headers(self, config: ClientConfig) -> dict[str, str]:
        """The headers of the SDK's client, without importing the SDK, which takes long."""
        names_more = any(name in os.environ for name in _SETTINGS_OF_THE_SDK)
        if names_more and is_current("openai"):
            return super().sdk_headers(config)
        return text_headers(
            {
                **key_headers(config.api_base_url, self._api_key),
                "Accept": "application/json",
                "Content-Type": "application/json",
                "User-Agent": "tui-eval",
                **config.extra_headers,
            }
        )

    def setup_client(self, config: ClientConfig) -> AsyncOpenAI:
        """An `AsyncOpenAI` over aiohttp with the limits and headers of the config.

        One of another time sends with its own library.

        Raises:
            ModuleNotFoundError: There is none.
        """
        made: AsyncOpenAI = needed_sdk("openai").AsyncOpenAI(
            api_key=self._api_key or NO_KEY,
            base_url=self.base_url(config),
            default_query=self.read_url(config.api_base_url).parameters or None,
            http_client=self.http_client("openai", config),
            max_retries=config.max_retries,
            # The SDK sends its own header in any case.
            default_headers={
                **_own_key_header(config.api_base_url, self._api_key),
                **config.extra_headers,
            },
        )
        return made


def key_headers(url: str, key: str) -> dict[str, str]:
    """The header with the key of an endpoint; servers without keys are used to getting some."""
    return _own_key_header(url, key) or {"Authorization": f"Bearer {key or NO_KEY}"}


def _own_key_header(url: str, key: str) -> dict[str, str]:
    name = profile_of(url).key_header
    return {name: key} if name and key else {}

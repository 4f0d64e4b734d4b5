"""The client of Anthropic's messages and of every endpoint that speaks like it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tui_eval.clients.base_urls import BaseUrl, read_anthropic_url
from tui_eval.clients.sdk_client import NO_KEY, SdkClient, text_headers
from tui_eval.clients.sdks import exceptions_of, is_current, needed_sdk
from tui_eval.clients.wire.anthropic_answer import AnthropicAnswer, AnthropicStream
from tui_eval.clients.wire.anthropic_translation import (
    DEFAULT_MAX_TOKENS,
    check_anthropic_answer,
    from_anthropic_answer,
    to_anthropic_body,
    to_anthropic_messages,
    to_anthropic_tool,
)
from tui_eval.clients.wire.usage import from_anthropic_usage
from tui_eval.messages import Messages
from tui_eval.types import ClientConfig, Response, SamplingArgs, Tool, Usage

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


_VERSION = "2023-06-01"
"""The version of the protocol, where no SDK says one."""
_LIMITS = ("max_tokens", "max_completion_tokens")


class AnthropicMessagesClient(
    SdkClient["AsyncAnthropic", list[dict[str, Any]], dict[str, Any]],
):
    """Speaks `/v1/messages`; see `Client`."""

    _warned = False

    ANSWER = AnthropicAnswer
    STREAM = AnthropicStream
    PATH = "/v1/messages"
    KEY_HEADER = "x-api-key"

    def sdk(self) -> ModuleType:
        """Anthropic's SDK, or its exceptions where there is none."""
        return exceptions_of("anthropic")

    def sdk_headers(self, config: ClientConfig) -> dict[str, str]:
        """The headers of the SDK's client; the same without it, where it is of another time."""
        if is_current("anthropic"):
            return super().sdk_headers(config)
        return text_headers(
            {
                **({"x-api-key": self._api_key} if self._api_key else {}),
                "Accept": "application/json",
                "Content-Type": "application/json",
                "User-Agent": "tui-eval",
                "anthropic-version": _VERSION,
                **config.extra_headers,
            }
        )

    def read_url(self, typed: str) -> BaseUrl:
        """The URL without a `/v1` at its end, which the path brings."""
        return read_anthropic_url(typed)

    def setup_client(self, config: ClientConfig) -> AsyncAnthropic:
        """An `AsyncAnthropic` over aiohttp with the limits and headers of the config.

        One of another time sends with its own library.

        Raises:
            ModuleNotFoundError: There is none.
        """
        sdk = needed_sdk("anthropic")
        # The key goes as `x-api-key`, which every endpoint of this protocol reads. An explicit
        # empty key keeps the SDK from looking for credentials in variables and files.
        omit = getattr(sdk, "Omit", None) or import_module("anthropic._types").Omit
        headers: Any = {"Authorization": omit()}
        if self._api_key:
            headers["x-api-key"] = self._api_key
        made: AsyncAnthropic = sdk.AsyncAnthropic(
            # One of another time refuses to call without a key, whatever its headers are.
            api_key=self._api_key or ("" if is_current("anthropic") else NO_KEY),
            base_url=self.base_url(config),
            default_query=self.read_url(config.api_base_url).parameters or None,
            http_client=self.http_client("anthropic", config),
            max_retries=config.max_retries,
            default_headers={**headers, **config.extra_headers},
        )
        return made

    def create_function(self, sdk_client: Any) -> Any:
        """`messages.create`."""
        return sdk_client.messages.create

    async def to_native_prompt(
        self, messages: Messages
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The messages on the wire, and the system prompt beside."""
        return to_anthropic_messages(messages, self.reasoning_route)

    async def to_native_tool(self, tool: Tool) -> dict[str, Any]:
        """One tool as Anthropic describes it."""
        return to_anthropic_tool(tool)

    async def get_native_response(
        self,
        prompt: list[dict[str, Any]],
        model: str,
        sampling_args: SamplingArgs,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The endpoint's message."""
        state = kwargs.pop("state", None)
        self._warn_of_default(sampling_args)
        body, options = to_anthropic_body(prompt, model, {**kwargs, **sampling_args}, tools)
        return await self.send(body, options, state)

    def _warn_of_default(self, sampling_args: SamplingArgs) -> None:
        if self._warned or sampling_args.get("max_tokens") is not None:
            return
        given = (sampling_args, sampling_args.get("extra_body") or {})
        if any(args.get(name) is not None for args in given for name in _LIMITS):
            return
        self._warned = True
        self.logger.warning(
            "max_tokens is not set; Anthropic needs one, and gets %d", DEFAULT_MAX_TOKENS
        )

    async def raise_from_native_response(self, response: Any) -> None:
        """Refuses what is no message with something in it."""
        check_anthropic_answer(response)

    async def from_native_response(self, response: Any) -> Response:
        """The answer in our types."""
        return self.with_origin(from_anthropic_answer(response))

    def usage_of(self, response: Any) -> Usage | None:
        """The tokens that an answer reports, usable or not."""
        return from_anthropic_usage(getattr(response, "usage", None))

"""The client of OpenAI's chat completions and of every endpoint that speaks like it."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from tui_eval.clients.openai_answer import ChatAnswer
from tui_eval.clients.openai_translation import (
    check_chat_answer,
    from_chat_answer,
    to_chat_body,
    to_chat_messages,
    to_chat_tool,
)
from tui_eval.clients.sdk_client import SdkClient
from tui_eval.messages import Messages
from tui_eval.types import ClientConfig, Response, SamplingArgs, Tool

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# The SDK refuses to call without a key, or takes the one it finds in its own variable; this is
# what servers without keys are used to.
_NO_KEY = "EMPTY"


class OpenAIChatCompletionsClient(
    SdkClient["AsyncOpenAI", list[dict[str, Any]], dict[str, Any]],
):
    """Speaks `/chat/completions`; see `Client`."""

    ANSWER = ChatAnswer
    PATH = "/chat/completions"
    OVERLONG_PHRASES: ClassVar[tuple[str, ...]] = (
        "this model's maximum context length is",
        "is longer than the model's context length",
        "exceeds the model's context length",
        "exceed the configured limit",
        "exceeds the configured limit",
        "exceeded model",
        "prompt_too_long",
        "context length",
        "context_length_exceeded",
    )

    def sdk(self) -> ModuleType:
        """OpenAI's SDK."""
        import openai

        return openai

    def base_url(self, config: ClientConfig) -> str:
        """The config's URL without a slash at its end."""
        return config.api_base_url.rstrip("/")

    def setup_client(self, config: ClientConfig) -> AsyncOpenAI:
        """An `AsyncOpenAI` over aiohttp with the limits and headers of the config."""
        from openai import AsyncOpenAI, DefaultAioHttpClient

        from tui_eval.clients.endpoint import http_client_settings

        self._http_client = DefaultAioHttpClient(**http_client_settings(config))
        return AsyncOpenAI(
            api_key=self._api_key or _NO_KEY,
            base_url=self.base_url(config),
            http_client=self._http_client,
            max_retries=config.max_retries,
            default_headers=config.extra_headers,
        )

    def create_function(self, sdk_client: Any) -> Any:
        """`chat.completions.create`."""
        return sdk_client.chat.completions.create

    async def to_native_prompt(
        self, messages: Messages
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The messages on the wire; sound asks for an answer in text."""
        return to_chat_messages(messages)

    async def to_native_tool(self, tool: Tool) -> dict[str, Any]:
        """One tool as a function."""
        return to_chat_tool(tool)

    async def get_native_response(
        self,
        prompt: list[dict[str, Any]],
        model: str,
        sampling_args: SamplingArgs,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The endpoint's chat completion."""
        state = kwargs.pop("state", None)
        body, options = to_chat_body(prompt, model, {**kwargs, **sampling_args}, tools)
        return await self.send(body, options, state)

    async def raise_from_native_response(self, response: Any) -> None:
        """Refuses what is not exactly one answer with something in it."""
        check_chat_answer(response)

    async def from_native_response(self, response: Any) -> Response:
        """The answer in our types."""
        return from_chat_answer(response)

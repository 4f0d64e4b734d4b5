"""The client of OpenAI's chat completions and of every endpoint that speaks like it."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.openai_sdk import OpenAISdkClient
from tui_eval.clients.wire.chat_answer import ChatAnswer, check_chat_answer, from_chat_answer
from tui_eval.clients.wire.chat_request import to_chat_body, to_chat_messages, to_chat_tool
from tui_eval.clients.wire.chat_stream import ChatStream
from tui_eval.clients.wire.usage import from_chat_usage
from tui_eval.messages import Messages
from tui_eval.types import Response, SamplingArgs, Tool, Usage


class OpenAIChatCompletionsClient(OpenAISdkClient[list[dict[str, Any]]]):
    """Speaks `/chat/completions`; see `Client`."""

    ANSWER = ChatAnswer
    STREAM = ChatStream
    PATH = "/chat/completions"

    def create_function(self, sdk_client: Any) -> Any:
        """`chat.completions.create`."""
        return sdk_client.chat.completions.create

    async def to_native_prompt(
        self, messages: Messages
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The messages on the wire; with sound an answer in text is requested."""
        return to_chat_messages(messages, self.reasoning_route)

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
        limit = self.profile(model).token_limit
        body, options = to_chat_body(prompt, model, {**kwargs, **sampling_args}, tools, limit)
        return await self.send(body, options, state)

    async def raise_from_native_response(self, response: Any) -> None:
        """Refuses what is not exactly one answer with something in it."""
        check_chat_answer(response)

    async def from_native_response(self, response: Any) -> Response:
        """The answer in our types."""
        return self.with_origin(from_chat_answer(response), response.choices[0].message)

    def usage_of(self, response: Any) -> Usage | None:
        """The tokens that an answer reports, usable or not."""
        return from_chat_usage(getattr(response, "usage", None))

"""The client of OpenAI's responses and of every endpoint that speaks like it."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.openai_sdk import OpenAISdkClient
from tui_eval.clients.wire.responses_answer import ResponsesAnswer, ResponsesStream
from tui_eval.clients.wire.responses_items import to_items
from tui_eval.clients.wire.responses_translation import (
    check_responses_answer,
    from_responses_answer,
    to_responses_body,
    to_responses_tool,
)
from tui_eval.clients.wire.usage import from_responses_usage
from tui_eval.messages import Messages
from tui_eval.types import Response, SamplingArgs, Tool, Usage


class OpenAIResponsesClient(OpenAISdkClient[list[dict[str, Any]]]):
    """Speaks `/responses`; see `Client`.

    Every request carries the whole conversation, and nothing is stored at the endpoint unless the
    sampling argument `store` says so. Reasoning goes back as it came and where it stood: by id
    where it is stored, encrypted where it is not.
    """

    ANSWER = ResponsesAnswer
    STREAM = ResponsesStream
    PATH = "/responses"

    def create_function(self, sdk_client: Any) -> Any:
        """`responses.create`."""
        return sdk_client.responses.create

    async def to_native_prompt(
        self, messages: Messages
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The conversation as input items, and the system prompt beside."""
        return to_items(messages, self.reasoning_route)

    async def to_native_tool(self, tool: Tool) -> dict[str, Any]:
        """One tool as a function."""
        return to_responses_tool(tool)

    async def get_native_response(
        self,
        prompt: list[dict[str, Any]],
        model: str,
        sampling_args: SamplingArgs,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The endpoint's response."""
        state = kwargs.pop("state", None)
        body, options = to_responses_body(
            prompt,
            model,
            {**kwargs, **sampling_args},
            tools,
            self.profile(model).encrypted_reasoning,
        )
        return await self.send(body, options, state)

    async def raise_from_native_response(self, response: Any) -> None:
        """Refuses what is no finished answer with something in it."""
        check_responses_answer(response)

    async def from_native_response(self, response: Any) -> Response:
        """The answer in our types."""
        return self.with_origin(from_responses_answer(response))

    def usage_of(self, response: Any) -> Usage | None:
        """The tokens that an answer reports, usable or not."""
        return from_responses_usage(getattr(response, "usage", None))

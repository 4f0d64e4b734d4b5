"""The client of OpenAI's text completions and of every endpoint that speaks like it."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.openai_sdk import OpenAISdkClient
from tui_eval.clients.wire.completions import (
    CompletionAnswer,
    CompletionStream,
    check_completion_answer,
    from_completion_answer,
    to_completion_body,
    to_completion_prompt,
)
from tui_eval.clients.wire.usage import from_chat_usage
from tui_eval.messages import Messages
from tui_eval.types import Response, SamplingArgs, Tool, Usage


class OpenAICompletionsClient(OpenAISdkClient[str]):
    """Speaks `/completions`: the model continues a text; see `Client`.

    The prompt is the text of all messages, without roles and without any chat template. Tools,
    images and sound cannot be sent; requesting them is a `ModelError`.
    """

    ANSWER = CompletionAnswer
    STREAM = CompletionStream
    PATH = "/completions"

    def create_function(self, sdk_client: Any) -> Any:
        """`completions.create`."""
        return sdk_client.completions.create

    async def to_native_prompt(self, messages: Messages) -> tuple[str, dict[str, Any]]:
        """The texts of the messages with an empty line between."""
        return to_completion_prompt(messages), {}

    async def to_native_tool(self, tool: Tool) -> dict[str, Any]:
        """Refuses the tool.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            f"the tool {tool.name!r} cannot be offered, as text completions know no tools; "
            "use a chat endpoint (client type openai_chat_completions)"
        )

    async def get_native_response(
        self,
        prompt: str,
        model: str,
        sampling_args: SamplingArgs,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The endpoint's text completion."""
        state = kwargs.pop("state", None)
        body, options = to_completion_body(prompt, model, {**kwargs, **sampling_args})
        return await self.send(body, options, state)

    async def raise_from_native_response(self, response: Any) -> None:
        """Refuses what is not exactly one answer with text in it."""
        check_completion_answer(response)

    async def from_native_response(self, response: Any) -> Response:
        """The answer in our types."""
        return from_completion_answer(response)

    def usage_of(self, response: Any) -> Usage | None:
        """The tokens that an answer reports, usable or not."""
        return from_chat_usage(getattr(response, "usage", None))

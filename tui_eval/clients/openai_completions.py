"""The client of OpenAI's text completions and of every endpoint that speaks like it."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.openai_sdk import OpenAISdkClient
from tui_eval.clients.wire.answer_stream import AnswerStream, Hear, more_logprobs
from tui_eval.clients.wire.answer_struct import copy_known
from tui_eval.clients.wire.completions_answer import CompletionAnswer, CompletionChoice
from tui_eval.clients.wire.completions_translation import (
    check_completion_answer,
    from_completion_answer,
    to_completion_body,
    to_completion_prompt,
)
from tui_eval.clients.wire.finish_reasons import says_nothing
from tui_eval.clients.wire.usage import from_chat_usage
from tui_eval.messages import Messages
from tui_eval.types import Response, SamplingArgs, Tool, Usage

_TOP = ("id", "created", "model", "usage", "system_fingerprint")
_LATEST = ("prompt_token_ids", "routed_experts", "error")


class CompletionStream(AnswerStream):
    """Parts of one answer, put together; the text of the first choice is streamed."""

    EVENT = CompletionAnswer
    COUNTS_WHEN_ASKED = True

    def __init__(self, hear: Hear, url: Any = "the endpoint") -> None:
        super().__init__(hear, url)
        self._answer = CompletionAnswer()
        self._choices: dict[int, CompletionChoice] = {}
        self._texts: dict[int, list[str]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every choice that began has said why it ended."""
        choices = self._choices.values()
        return bool(choices) and all(one.finish_reason for one in choices)

    def is_foreign(self, event: CompletionAnswer) -> bool:
        """Whether a part has neither choices nor tokens."""
        return event.choices is None and event.usage is None

    def add(self, event: CompletionAnswer) -> None:
        """Takes in the next part."""
        copy_known(self._answer, event, _TOP)
        for part in event.choices or ():
            place = part.index or 0
            choice = self._choices.setdefault(place, CompletionChoice(place))
            copy_known(choice, part, _LATEST)
            if not says_nothing(part.finish_reason):
                choice.finish_reason = part.finish_reason
            if part.token_ids is not None:
                choice.token_ids = [*(choice.token_ids or ()), *part.token_ids]
            if part.logprobs is not None:
                choice.logprobs = more_logprobs(choice.logprobs, part.logprobs)
            if part.text:
                self._texts.setdefault(place, []).append(part.text)
                if place == next(iter(self._choices)):
                    self._hear("text", part.text)

    def answer(self) -> CompletionAnswer:
        """What came so far as one answer."""
        for place, choice in self._choices.items():
            choice.text = "".join(self._texts.get(place, ()))
        self._answer.choices = [choice for _, choice in sorted(self._choices.items())] or None
        return self._answer


class OpenAICompletionsClient(OpenAISdkClient[str]):
    """Speaks `/completions`: the model continues a text; see `Client`.

    The prompt is the text of all messages, without roles and without any chat template. Tools,
    images and sound cannot be sent; asking for them is a `ModelError`.
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

"""The client of a vLLM that takes prompts as token ids, for reinforcement learning."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from tui_eval.clients.base import is_own
from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.clients.sampling import PLAIN, CallOptions, split_sampling
from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.chat_answer import ChatAnswer
from tui_eval.clients.wire.chat_request import to_chat_body, to_chat_messages
from tui_eval.clients.wire.replayed import ANYWHERE, ReasoningRoute
from tui_eval.types import SamplingArgs

_TEMPLATE_ARGUMENTS = ("chat_template", "chat_template_kwargs", "documents")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class OpenAIChatCompletionsTokenClient(OpenAIChatCompletionsClient):
    """Speaks `/chat/completions`, and from the second turn on `/chat/completions/tokens`.

    The second route is that of a patched vLLM, such as prime-rl's server: the body of a chat
    completion with the prompt's ids in `tokens`. They are those of the turn before, exactly as the
    model made them, and what `/tokenize` beside `/v1` says of the messages since; a model is thus
    trained on what it saw. Where that cannot be had (first turn, images, a cut-off turn, a template
    that rewrites what was said) messages are sent. Token ids and log probabilities are requested
    in every call.

    This is written after the documentation of those routes and checked against a scripted endpoint,
    not against a running vLLM.
    """

    TOKENS_PATH = "/chat/completions/tokens"
    TOKENIZE_PATH = "/tokenize"

    async def get_native_response(
        self,
        prompt: list[dict[str, Any]],
        model: str,
        sampling_args: SamplingArgs,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The endpoint's chat completion, with token ids."""
        state = kwargs.pop("state", None)
        sampling = {**kwargs, **sampling_args, "logprobs": True, "return_token_ids": True}
        more: dict[str, Any] = {}
        if self._is_default("get_prompt_ids"):
            more = {"model": model, "sampling_args": sampling}
        ids = await self.get_prompt_ids(state, prompt, tools, **more)
        if ids is None:
            return await super().get_native_response(prompt, model, sampling, tools, state=state)
        limit = self.profile(model).token_limit
        body, options = to_chat_body(prompt, model, sampling, tools, limit)
        url = self._base_url() + self.TOKENS_PATH
        return await self.send_elsewhere(url, ChatAnswer, {**body, "tokens": ids}, options, state)

    async def get_prompt_ids(
        self,
        state: Any,
        prompt_messages: list[dict[str, Any]],
        oai_tools: list[dict[str, Any]] | None,
        *,
        model: str | None = None,
        sampling_args: Mapping[str, Any] = _NOTHING,
    ) -> list[int] | None:
        """The ids of a prompt that continues from an earlier turn; subclasses may have their own
        way.

        Args:
            state: The rollout of the request, or None.
            prompt_messages, oai_tools: As they go over the wire.
            model: The state's where none is given.
            sampling_args: Those of the call, of which a chat template may want some.

        Returns:
            None where messages have to be sent.
        """
        turn = earlier_turn(state, prompt_messages, self.reasoning_route)
        if turn is None:
            return None
        template, options = _template_arguments(sampling_args)
        more: dict[str, Any] = {"tools": oai_tools, "model": model or state["model"]}
        if self._is_default("tokenize"):
            more |= {"state": state, "options": options}
        ids_of: Callable[..., Awaitable[list[int]]] = partial(self.tokenize, **more)
        before, whole = await asyncio.gather(
            ids_of(
                prompt_messages[: turn.messages],
                extra_kwargs={**template, "add_generation_prompt": False},
            ),
            ids_of(prompt_messages, extra_kwargs={**template, "add_generation_prompt": True}),
        )
        ids = stitch(turn, before, whole)
        if ids is None:
            self.logger.debug("the chat template rewrites earlier turns; messages are sent")
        return ids

    async def tokenize(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        model: str,
        extra_kwargs: Mapping[str, Any] = _NOTHING,
        *,
        state: Any = None,
        options: CallOptions = PLAIN,
        **kwargs: Any,
    ) -> list[int]:
        """Tokens of messages or of a text, by the endpoint's tokenizer; subclasses may override.

        Args:
            extra_kwargs: Further fields of the request.
            state: The rollout of the request.
            options: Options beside the request.
        """
        request = {"model": model, **extra_kwargs}
        if isinstance(messages, str):
            request["prompt"] = messages
        else:
            request["messages"] = messages
            if tools:
                request["tools"] = tools
        url = self._base_url().removesuffix("/v1") + self.TOKENIZE_PATH
        reported = await self.send_elsewhere(url, TokenizeAnswer, request, options, state)
        tokens: list[int] = reported.tokens
        return tokens

    @property
    def token_client(self) -> Any:
        """The SDK's client for routes beside `/v1`."""
        return self.client.with_options(base_url=self._base_url().removesuffix("/v1"))

    def _is_default(self, hook: str) -> bool:
        """Whether a hook is this class's own, which takes more than a subclass's for verifiers."""
        return is_own(getattr(type(self), hook))

    def _base_url(self) -> str:
        if self.config is not None:
            return self.base_url(self.config)
        return str(self.client.base_url).rstrip("/")


def _template_arguments(sampling_args: Mapping[str, Any]) -> tuple[dict[str, Any], CallOptions]:
    """The arguments of a chat template among those of a call, and what goes beside the body."""
    sampling, extra_body, options = split_sampling(sampling_args)
    given = {**sampling, **extra_body}
    return {name: given[name] for name in _TEMPLATE_ARGUMENTS if name in given}, options


class TokenizeAnswer(AnswerStruct):
    """The answer of vLLM's `/tokenize`."""

    tokens: list[int]


class EarlierTurn(msgspec.Struct, frozen=True):
    """An earlier turn with whose messages a prompt begins.

    Args:
        messages: The number of the prompt's messages that are the turn's.
        prompt_length: Of the turn's own prompt, in tokens.
        ids: Of its prompt and what the model said, as the model saw and made them.
    """

    messages: int
    prompt_length: int
    ids: list[int]


def earlier_turn(
    state: Any, prompt: Sequence[dict[str, Any]], reasoning: ReasoningRoute = ANYWHERE
) -> EarlierTurn | None:
    """The latest turn of a rollout that a prompt continues from; None where there is no usable one.

    Usable is a turn whose ids are known and whole, which ended of itself, and whose messages, as
    they go over the wire, are the first of the prompt. Prompts with more than text have none.
    """
    if not state or any(isinstance(message.get("content"), list) for message in prompt):
        return None
    for step in reversed(state.get("trajectory") or ()):
        tokens = step.get("tokens")
        if not tokens or tokens.get("is_truncated") or step.get("is_truncated"):
            continue
        earlier, _ = to_chat_messages([*step["prompt"], *step["completion"]], reasoning)
        if len(earlier) < len(prompt) and prompt[: len(earlier)] == earlier:
            ids = [*tokens["prompt_ids"], *tokens["completion_ids"]]
            return EarlierTurn(len(earlier), len(tokens["prompt_ids"]), ids)
    return None


def stitch(turn: EarlierTurn, before: list[int], whole: list[int]) -> list[int] | None:
    """The ids of a prompt: the earlier turn's as they were, and the template's for the rest.

    The template may put something behind the token that ends a message, often a line break, which
    the model never makes itself. It is what `before` has behind the last token of that kind.

    Args:
        before: The turn's messages in the template's tokens.
        whole: All messages in the template's tokens.

    Returns:
        None where the template does not keep the turn as it was, such as one that drops reasoning.
    """
    if whole[: len(before)] != before or not turn.ids or turn.ids[-1] not in before:
        return None
    end = len(before) - before[::-1].index(turn.ids[-1])
    if end <= turn.prompt_length:
        return None
    return turn.ids + whole[end:]

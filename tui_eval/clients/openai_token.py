"""The client of a vLLM that takes prompts as token ids, for reinforcement learning."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tui_eval.clients.openai_chat import OpenAIChatCompletionsClient
from tui_eval.clients.sampling import CallOptions
from tui_eval.clients.wire.chat_answer import ChatAnswer
from tui_eval.clients.wire.chat_request import to_chat_body
from tui_eval.clients.wire.token_stitching import TokenizeAnswer, earlier_turn, stitch
from tui_eval.types import SamplingArgs

_TEMPLATE_ARGUMENTS = ("chat_template", "chat_template_kwargs", "documents")


class OpenAIChatCompletionsTokenClient(OpenAIChatCompletionsClient):
    """Speaks `/chat/completions`, and from the second turn on `/chat/completions/tokens`.

    The second route is that of a patched vLLM, such as prime-rl's server: the body of a chat
    completion with the prompt's ids in `tokens`. They are those of the turn before, exactly as the
    model made them, and what `/tokenize` beside `/v1` says of the messages since; a model is thus
    trained on what it saw. Where that cannot be had (first turn, images, a cut-off turn, a template
    that rewrites what was said) messages are sent. Token ids and log probabilities are asked for
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
        asked = {**kwargs, **sampling_args, "logprobs": True, "return_token_ids": True}
        body, options = to_chat_body(prompt, model, asked, tools, self.profile(model).token_limit)
        ids = await self._prompt_ids(body, options, state)
        if ids is None:
            return await self.send(body, options, state)
        url = self._base_url() + self.TOKENS_PATH
        return await self.send_elsewhere(url, ChatAnswer, {**body, "tokens": ids}, options, state)

    async def _prompt_ids(
        self, body: Mapping[str, Any], options: CallOptions, state: Any
    ) -> list[int] | None:
        messages = body["messages"]
        turn = earlier_turn(state, messages, self.reasoning_route)
        if turn is None:
            return None
        before, whole = await asyncio.gather(
            self._tokenize(body, messages[: turn.messages], False, options, state),
            self._tokenize(body, messages, True, options, state),
        )
        ids = stitch(turn, before, whole)
        if ids is None:
            self.logger.debug("the chat template rewrites earlier turns; messages are sent")
        return ids

    async def _tokenize(
        self,
        body: Mapping[str, Any],
        messages: list[dict[str, Any]],
        answer_follows: bool,
        options: CallOptions,
        state: Any,
    ) -> list[int]:
        request = {
            "model": body["model"],
            "messages": messages,
            "add_generation_prompt": answer_follows,
        }
        request |= {name: body[name] for name in ("tools", *_TEMPLATE_ARGUMENTS) if name in body}
        url = self._base_url().removesuffix("/v1") + self.TOKENIZE_PATH
        told = await self.send_elsewhere(url, TokenizeAnswer, request, options, state)
        tokens: list[int] = told.tokens
        return tokens

    def _base_url(self) -> str:
        if self.config is not None:
            return self.base_url(self.config)
        return str(self.client.base_url).rstrip("/")

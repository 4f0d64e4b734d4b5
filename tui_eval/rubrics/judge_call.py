"""One call of a judge: what is a verdict, and what is a call that failed.

A verdict is graded. What is none must never be: a failure reported inside a 200, an answer that was
cut off in its middle, a filtered or an empty one. These are errors of the judge, and those that a
status says are passing are tried again before.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

import msgspec

from tui_eval.clients.base import Client, kept_answer
from tui_eval.clients.given_clients import call_sdk, paced
from tui_eval.clients.refused_parameters import LearntParameters, Refusals
from tui_eval.clients.wire.finish_reasons import finish_reason
from tui_eval.clients.wire.usage import count_of
from tui_eval.errors import JudgeError
from tui_eval.messages import UserMessage, text_of
from tui_eval.plain_calls.functions import THREADS
from tui_eval.provider_profiles import profile_of
from tui_eval.types import Response, ResponseMessage, SamplingArgs, Usage

SHORT_TOKENS = 16
"""A limit for a verdict of a word or two: what is there when it is reached is one."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_NO_VERDICTS = {
    "content_filter": "a filter stopped its answer",
    "refusal": "it refused to answer",
}


class Judge(msgspec.Struct, frozen=True):
    """A model that gives verdicts."""

    client: Any
    """The client or its config, as `JudgeRubric` takes it."""
    model: str
    """Its name at the endpoint."""
    sampling_args: SamplingArgs
    """Sent with every request; those set to None are left out."""
    timeout: float
    """Seconds that a call in a thread may take."""
    learnt: LearntParameters = msgspec.field(default_factory=LearntParameters)
    """Parameters that the endpoint refused; what is refused now is added."""

    def __str__(self) -> str:
        return f"Judge {self.model!r}" + (f" at {self.url}" if self.url else "")

    @property
    def url(self) -> str:
        """The judge's URL; empty where a client does not say."""
        if isinstance(self.client, Client):
            return self.client.endpoint_url()
        return str(getattr(self.client, "base_url", None) or "")

    async def verdict(self, prompt: str) -> tuple[str, Any]:
        """The verdict, and the tokens that it took where the endpoint says them.

        Raises:
            JudgeError: The call failed, or brought no verdict; its cause is the client's exception.
        """
        arguments = {k: v for k, v in self.sampling_args.items() if v is not None}
        try:
            if isinstance(self.client, Client):
                answer = await self.client.get_response(
                    [UserMessage(content=prompt)], self.model, arguments
                )
            else:
                request = [self.url, prompt, self.model, arguments]
                answer = await kept_answer(request, lambda: self._answer(prompt, arguments))
        except Exception as error:
            text = f"{self} failed: {type(error).__name__}: {error}"
            raise JudgeError(text) from error
        message = answer.message
        verdict = text_of(message.content)
        self._check(verdict, message.finish_reason, arguments)
        return verdict, answer.usage

    def _check(self, verdict: str, reason: Any, arguments: Mapping[str, Any]) -> None:
        if reason in _NO_VERDICTS:
            raise JudgeError(f"{self} gave no verdict: {_NO_VERDICTS[reason]}")
        if reason == "length" and not (verdict.strip() and _is_short(arguments)):
            what = "was cut off at its length limit" if verdict.strip() else "is empty"
            raise JudgeError(
                f"{self} gave no verdict: its answer {what}; "
                "raise max_tokens in judge_sampling_args"
            )
        if not verdict.strip():
            raise JudgeError(f"{self} gave an empty verdict")

    async def _answer(self, prompt: str, sampling_args: SamplingArgs) -> Response:
        """The answer of an SDK's client, in our types."""
        answer = await self._create(prompt, sampling_args)
        choice = answer.choices[0]
        reason = finish_reason(getattr(choice, "finish_reason", None))
        refusal = getattr(choice.message, "refusal", None)
        if isinstance(refusal, str) and refusal:
            reason = "refusal"
        used = getattr(answer, "usage", None)
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        usage = Usage(**{name: count_of(getattr(used, name, None)) for name in names})
        message = ResponseMessage(
            content=text_of(choice.message.content),
            finish_reason=reason,
            is_truncated=reason == "length",
        )
        return Response(id="", created=0, model=self.model, usage=usage, message=message)

    async def _create(self, prompt: str, sampling_args: SamplingArgs) -> Any:
        single, retries = paced(self.client)
        create = single.chat.completions.create
        limit = profile_of(self.url, self.model).token_limit
        arguments = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            **_named_arguments(create, sampling_args, limit),
        }
        if self.learnt:
            arguments = self.learnt.written(arguments)
        openai = sys.modules.get("openai")
        is_sync = openai is not None and isinstance(self.client, openai.OpenAI)

        async def call() -> Any:
            if is_sync:
                return await THREADS.run(functools.partial(create, **arguments), self.timeout)
            answer = create(**arguments)
            return await answer if inspect.isawaitable(answer) else answer

        refusals = Refusals()
        while True:
            try:
                answer = await call_sdk(call, retries, tries_by_itself=single is self.client)
            except Exception as error:
                arguments = refusals.answer(error, arguments)
            else:
                self.learnt.keep(self.model, refusals)
                return answer


def _is_short(arguments: Mapping[str, Any]) -> bool:
    """Whether an answer is limited to so little that its beginning is meant to be all of it."""
    given = {**(arguments.get("extra_body") or {}), **arguments}
    limits = [given[name] for name in _LIMITS if isinstance(given.get(name), int)]
    return bool(limits) and min(limits) <= SHORT_TOKENS


def _named_arguments(
    create: Callable[..., Any], sampling_args: SamplingArgs, token_limit: str
) -> dict[str, Any]:
    """Sampling arguments for `create()`: those that it does not know go into `extra_body`."""
    arguments = dict(sampling_args)
    if token_limit != "max_tokens" and "max_tokens" in arguments:
        arguments.setdefault(token_limit, arguments.pop("max_tokens"))
    known = inspect.signature(create).parameters
    if "stream" in known:
        arguments.setdefault("stream", False)
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()):
        return arguments
    rest = {name: arguments.pop(name) for name in arguments.keys() - known.keys()}
    if rest:
        arguments["extra_body"] = {**rest, **arguments.get("extra_body", {})}
    return arguments

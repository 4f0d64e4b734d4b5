"""A rubric whose reward functions can ask a model for its verdict."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import re
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

from tui_eval.clients.base import Client
from tui_eval.clients.given_clients import note_use
from tui_eval.clients.proxies import spare_loopback
from tui_eval.errors import JudgeError
from tui_eval.messages import Messages, UserMessage, text_of
from tui_eval.parsers.parser import Parser
from tui_eval.plain_calls.functions import THREADS
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State
from tui_eval.types import SamplingArgs

KEY_VARIABLE = "OPENAI_API_KEY"

JUDGE_PROMPT = """\
You compare a response to a question with the correct answer.

Question:
{question}

Correct answer:
{answer}

Response:
{response}

Does the response say the same as the correct answer? Reply with "yes" or "no" and nothing else."""

_FIELD = re.compile(r"\{(question|answer|response)\}")


@dataclass(slots=True)
class _Verdicts:
    """What judges said about one rollout, and a lock for each question that was put."""

    state: weakref.ref[State]
    said: dict[tuple[str, ...], str] = field(default_factory=dict)
    locks: dict[tuple[str, ...], asyncio.Lock] = field(default_factory=dict)


class JudgeRubric(Rubric):
    """Gives reward functions a judge: `await judge(prompt, completion, answer, state)`.

    It has no function of its own; add those that make a number of the judge's text. They may ask
    for `judge`, `judge_client`, `judge_model`, `judge_prompt` and `judge_sampling_args`.

    A judge that fails is a scoring error of the rollout. Each rollout keeps what its judges said
    under `state["judge_response"]`, by the text that they were sent, and what it took under
    `state["judge_usage"]`: `calls`, `input_tokens`, `output_tokens` and `ms`.

    Args:
        parser: Takes the response out of a completion.
        parallelize_scoring: Without effect: rollouts are always scored side by side.
        judge_client: An `AsyncOpenAI`, an `OpenAI` (called in a thread), or a `Client`. Without
            one, an `AsyncOpenAI` is made at the first use, with the key in `OPENAI_API_KEY`.
        judge_model: Its name at the endpoint.
        judge_sampling_args: Sent with every request; those set to None are left out.
        judge_prompt: What the judge is sent, with the fields `{question}`, `{answer}` and
            `{response}`.
        kwargs: As for `Rubric`.
    """

    def __init__(
        self,
        parser: Parser | None = None,
        parallelize_scoring: bool = False,
        judge_client: Any = None,
        judge_model: str = "gpt-4.1-nano",
        judge_sampling_args: SamplingArgs | None = None,
        judge_prompt: str = JUDGE_PROMPT,
        **kwargs: Any,
    ) -> None:
        super().__init__(parser=parser, **kwargs)
        self.parallelize_scoring = parallelize_scoring
        self.judge_client = judge_client
        self.judge_model = judge_model
        self.judge_prompt = judge_prompt
        self.judge_sampling_args = dict(judge_sampling_args or {})
        self.class_objects |= {
            "judge": self.judge,
            "judge_client": judge_client,
            "judge_model": judge_model,
            "judge_prompt": judge_prompt,
            "judge_sampling_args": self.judge_sampling_args,
        }
        self._verdicts: dict[int, _Verdicts] = {}

    async def add_scores(self, states: list[State], alone: bool) -> None:
        """Runs every function on states that were made ready, and adds to what they have."""
        if self.judge_client is None and os.environ.get(KEY_VARIABLE):
            self._make_client()
        note_use(self.judge_client)
        await super().add_scores(states, alone)

    async def judge(
        self,
        prompt: Messages | str,
        completion: Messages | str,
        answer: Any,
        state: State | None = None,
        **kwargs: Any,
    ) -> str:
        """What the judge says about a response.

        With a `state`, the same request is made once for this rollout, also when it is asked for
        several times at once.

        Args:
            prompt: Of which the last message of the user is the question; images in it are
                named, not shown.
            completion: Of which the parser takes the response.
            answer: The correct one.
            state: The rollout.
            kwargs: Left aside.

        Returns:
            The judge's text, never empty.

        Raises:
            JudgeError: The call failed, or brought no text.
        """
        response = self.parser.parse_answer(completion)
        filled = fill_prompt(
            self.judge_prompt,
            question=question_of(prompt),
            answer=_text(answer),
            response=_text(response),
        )
        if not isinstance(state, State):  # nothing outlives the call that it could be kept with
            return (await self._ask(filled))[0]
        key = (self.judge_model, repr(self.judge_sampling_args), filled)
        verdicts = self._verdicts_of(state)
        async with verdicts.locks.setdefault(key, asyncio.Lock()):
            if key not in verdicts.said:
                verdict, usage = await self._ask(filled)
                verdicts.said[key] = verdict
                _keep(state, filled, verdict, usage)
            return verdicts.said[key]

    def _verdicts_of(self, state: State) -> _Verdicts:
        place = id(state)
        known = self._verdicts.get(place)
        if known is None or known.state() is not state:
            forget = functools.partial(_forget, self._verdicts, place)
            known = self._verdicts[place] = _Verdicts(weakref.ref(state, forget))
        return known

    async def _ask(self, filled: str) -> tuple[str, dict[str, float]]:
        """The verdict, and what it took."""
        began = time.perf_counter()
        client = self.judge_client or self._make_client()
        arguments = {k: v for k, v in self.judge_sampling_args.items() if v is not None}
        try:
            if isinstance(client, Client):
                answer = await client.get_response(
                    [UserMessage(content=filled)], self.judge_model, arguments
                )
                message = answer.message
            else:
                answer = await self._create(client, filled, arguments)
                message = answer.choices[0].message
            verdict = text_of(message.content)
        except Exception as error:
            url = getattr(client, "base_url", None)
            judge = f"Judge {self.judge_model!r}" + (f" at {url}" if url else "")
            text = f"{judge} failed: {type(error).__name__}: {error}"
            raise JudgeError(text) from error
        if not verdict.strip():
            raise JudgeError(f"Judge {self.judge_model!r} gave an empty verdict")
        usage = getattr(answer, "usage", None)
        return verdict, {
            "calls": 1,
            "input_tokens": getattr(usage, "prompt_tokens", None) or 0,
            "output_tokens": getattr(usage, "completion_tokens", None) or 0,
            "ms": (time.perf_counter() - began) * 1000,
        }

    async def _create(self, client: Any, filled: str, sampling_args: SamplingArgs) -> Any:
        create = client.chat.completions.create
        arguments = {
            "model": self.judge_model,
            "messages": [{"role": "user", "content": filled}],
            **_named_arguments(create, sampling_args),
        }
        openai = sys.modules.get("openai")
        if openai is not None and isinstance(client, openai.OpenAI):
            return await THREADS.run(functools.partial(create, **arguments), self._timeout_seconds)
        answer = create(**arguments)
        return await answer if inspect.isawaitable(answer) else answer

    def _make_client(self) -> Any:
        if not os.environ.get(KEY_VARIABLE):
            raise JudgeError(
                f"The judge has no client: give JudgeRubric a judge_client, or set {KEY_VARIABLE}"
            )
        from openai import AsyncOpenAI

        spare_loopback()
        self.judge_client = self.class_objects["judge_client"] = AsyncOpenAI()
        return self.judge_client


def question_of(prompt: Messages | str | None) -> str:
    """The text of the last message of the user; images and sound in it are named in brackets.

    Returns:
        The text of the last message where the user said nothing, "" where nobody did.
    """
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    asked = [message for message in prompt if message.get("role") in ("user", "text")]
    said = asked or list(prompt)
    return text_of(said[-1].get("content")) if said else ""


def fill_prompt(template: str, **fields: str) -> str:
    """A judge's prompt with its fields filled, as `str.format` does it.

    Where the template is none for `str.format`, for braces of its own, only `{name}` of the
    fields is replaced. What is filled in is never read as a template.
    """
    try:
        return template.format(**fields)
    except (ValueError, LookupError, AttributeError):
        return _FIELD.sub(lambda found: fields.get(found[1], found[0]), template)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _named_arguments(create: Callable[..., Any], sampling_args: SamplingArgs) -> dict[str, Any]:
    """Sampling arguments for `create()`: those that it does not know go into `extra_body`."""
    arguments = dict(sampling_args)
    most = arguments.pop("max_tokens", None)
    if most is not None:
        arguments.setdefault("max_completion_tokens", most)
    known = inspect.signature(create).parameters.values()
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known):
        return arguments
    rest = {name: arguments.pop(name) for name in arguments.keys() - {p.name for p in known}}
    if rest:
        arguments["extra_body"] = {**rest, **arguments.get("extra_body", {})}
    return arguments


def _keep(state: State, filled: str, verdict: str, usage: Mapping[str, float]) -> None:
    responses = state.get("judge_response")
    if not isinstance(responses, dict):
        responses = state["judge_response"] = {}
    responses[filled] = verdict
    total = state.get("judge_usage") or {}
    state["judge_usage"] = {name: total.get(name, 0) + value for name, value in usage.items()}


def _forget(verdicts: dict[int, _Verdicts], place: int, state: Any) -> None:
    known = verdicts.get(place)
    if known is not None and known.state is state:
        del verdicts[place]

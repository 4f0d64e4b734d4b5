"""A rubric whose reward functions can request a model's verdict."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import time
import weakref
from collections.abc import Mapping
from typing import Any

import msgspec

from tui_eval.call_limits import limited
from tui_eval.clients.given_clients import note_use
from tui_eval.clients.proxies import spare_loopback
from tui_eval.clients.refused_parameters import LearntParameters
from tui_eval.clients.wire.usage import count_of
from tui_eval.errors import CallTimeoutError, JudgeError
from tui_eval.messages import Messages, text_of
from tui_eval.observer import CURRENT
from tui_eval.parsers.parser import Parser
from tui_eval.pasted import clean_variable
from tui_eval.rubrics.judge_call import Judge
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State
from tui_eval.types import SamplingArgs

KEY_VARIABLE = "OPENAI_API_KEY"

DEFAULT_JUDGE_PROMPT = """\
You compare a response to a question with the correct answer.

Question:
{question}

Correct answer:
{answer}

Response:
{response}

Does the response say the same as the correct answer? Reply with "yes" or "no" and nothing else."""

_FIELD = re.compile(r"\{(question|answer|response)\}")


class _Verdicts(msgspec.Struct):
    """Verdicts of judges about one rollout, and a lock for each question that was put."""

    state: weakref.ref[State]
    texts: dict[tuple[str, ...], str] = msgspec.field(default_factory=dict)
    locks: dict[tuple[str, ...], asyncio.Lock] = msgspec.field(default_factory=dict)


class JudgeRubric(Rubric):
    """Gives reward functions a judge: `await judge(prompt, completion, answer, state)`.

    It has no function of its own; add those that make a number of the judge's text. They may name
    `judge`, `judge_client`, `judge_model`, `judge_prompt` and `judge_sampling_args`.

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
        judge_prompt: The judge's prompt, with the fields `{question}`, `{answer}` and
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
        judge_prompt: str = DEFAULT_JUDGE_PROMPT,
        **kwargs: Any,
    ) -> None:
        super().__init__(parser=parser, **kwargs)
        self.parallelize_scoring = parallelize_scoring
        self.judge_client = judge_client
        self.judge_model = judge_model
        self.judge_prompt = judge_prompt
        self.judge_sampling_args = dict(judge_sampling_args or {})
        self._learnt = LearntParameters()
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
        """The judge's verdict on a response.

        With a `state`, the same request is made once for this rollout, also when it is requested
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
            JudgeError: The call failed, or brought no verdict: a text that is whole.
        """
        response = self.parser.parse_answer(completion)
        filled = fill_prompt(
            self.judge_prompt,
            question=question_of(prompt),
            answer=_text(answer),
            response=_text(response),
        )
        if not isinstance(state, State):  # nothing outlives the call that it could be kept with
            return (await self._request_verdict(filled))[0]
        key = (self.judge_model, repr(self.judge_sampling_args), filled)
        verdicts = self._verdicts_of(state)
        async with verdicts.locks.setdefault(key, asyncio.Lock()):
            if key not in verdicts.texts:
                verdict, usage = await self._request_verdict(filled)
                verdicts.texts[key] = verdict
                _keep(state, filled, verdict, usage)
            return verdicts.texts[key]

    def _verdicts_of(self, state: State) -> _Verdicts:
        place = id(state)
        known = self._verdicts.get(place)
        if known is None or known.state() is not state:
            forget = functools.partial(_forget, self._verdicts, place)
            known = self._verdicts[place] = _Verdicts(weakref.ref(state, forget))
        return known

    async def _request_verdict(self, filled: str) -> tuple[str, dict[str, float]]:
        """The verdict, and what it took."""
        began = time.perf_counter()
        client = self.judge_client or self._make_client()
        judge = Judge(
            client,
            self.judge_model,
            self.judge_sampling_args,
            self._timeout_seconds,
            self._learnt,
        )
        try:
            call = limited(CURRENT.get(), str(judge), "judge", lambda: judge.verdict(filled))
            verdict, usage = await call
        except CallTimeoutError as error:
            raise JudgeError(str(error)) from error
        return verdict, {
            "calls": 1,
            "input_tokens": count_of(getattr(usage, "prompt_tokens", None)),
            "output_tokens": count_of(getattr(usage, "completion_tokens", None)),
            "ms": (time.perf_counter() - began) * 1000,
        }

    def _make_client(self) -> Any:
        if not os.environ.get(KEY_VARIABLE):
            raise JudgeError(
                f"The judge has no client: give JudgeRubric a judge_client, or set {KEY_VARIABLE}"
            )
        from openai import AsyncOpenAI

        spare_loopback()
        clean_variable(KEY_VARIABLE)
        self.judge_client = self.class_objects["judge_client"] = AsyncOpenAI()
        return self.judge_client


def question_of(prompt: Messages | str | None) -> str:
    """The text of the last message of the user; images and sound in it are named in brackets.

    Returns:
        The text of the last message where the user said nothing, "" where nobody did.
    """
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    requested = [message for message in prompt if message.get("role") in ("user", "text")]
    messages = requested or list(prompt)
    return text_of(messages[-1].get("content")) if messages else ""


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

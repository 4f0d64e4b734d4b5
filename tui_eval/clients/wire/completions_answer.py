"""A text completion as it comes over the wire, with the attribute names of OpenAI's SDK."""

from __future__ import annotations

from typing import Any

from tui_eval.clients.wire.answer_stream import AnswerStream, OnText, more_logprobs
from tui_eval.clients.wire.answer_struct import AnswerStruct, copy_known
from tui_eval.clients.wire.chat_answer import ChatUsage
from tui_eval.clients.wire.finish_reasons import FINISH_REASONS, says_nothing


class CompletionChoice(AnswerStruct):
    """One of the answers; there should be one."""

    index: int | None = 0
    text: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None
    routed_experts: Any = None
    error: Any = None


class CompletionAnswer(AnswerStruct):
    """One text completion; fields that OpenAI does not have are vLLM's."""

    id: str | None = None
    created: float | None = None
    model: str | None = None
    choices: list[CompletionChoice] | None = None
    usage: ChatUsage | None = None
    system_fingerprint: str | None = None
    error: Any = None

    def is_sound(self) -> bool:
        """See `AnswerStruct`."""
        choices = self.choices
        if self.error is not None or choices is None or len(choices) != 1:
            return False
        return choices[0].error is None and choices[0].finish_reason in FINISH_REASONS


_TOP = ("id", "created", "model", "usage", "system_fingerprint")
_LATEST = ("prompt_token_ids", "routed_experts", "error")


class CompletionStream(AnswerStream):
    """Parts of one answer, put together; the text of the first choice is streamed."""

    EVENT = CompletionAnswer
    COUNTS_ON_REQUEST = True

    def __init__(self, on_text: OnText, url: Any = "the endpoint") -> None:
        super().__init__(on_text, url)
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
                    self._on_text("text", part.text)

    def answer(self) -> CompletionAnswer:
        """What came so far as one answer."""
        for place, choice in self._choices.items():
            choice.text = "".join(self._texts.get(place, ()))
        self._answer.choices = [choice for _, choice in sorted(self._choices.items())] or None
        return self._answer

"""The recorded answers of a rollout: kept as they come, and replayed after an interruption.

A rollout that was cut short restarts with a fresh environment. As long as it sends the same
requests, in whatever order, it gets the answers that were paid for already; from the first request
on that differs it calls the model itself, and the other answers are lost. The next record has their
places, so that a later replay does not take them either. Judges are called in parallel: see
`JudgeAnswers`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any

import msgspec

from tui_eval.runs.journal_records import restore_response, split_given_up, tokens_of_answer
from tui_eval.runs.plain_json import encode_model, encode_whatever
from tui_eval.token_kinds import Tokens, plus
from tui_eval.types import Response
from tui_eval.worker.request_digests import (
    Settings,
    SettingsDigests,
    difference,
    digest_of,
    digest_of_message,
    equal_messages,
    is_same,
)

_JUDGE_DIGEST_BYTES = 16


class RecordedCalls:
    """The model calls of one attempt of a rollout.

    Args:
        record: The beginning of each record of the rollout.
        keep: Writes a record; may raise nothing.
        settings: Digests that all rollouts share.
        earlier: Records of the same attempt from an earlier session, in their order.
    """

    def __init__(
        self,
        record: Mapping[str, Any],
        keep: Callable[[Mapping[str, Any]], Awaitable[None]],
        settings: SettingsDigests,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._record = record
        self._keep = keep
        used, given_up = split_given_up(earlier)
        self._left = {place: one for place, one in used.items() if "request" in one}
        self._results = {
            one["name"]: (place, one["value"]) for place, one in used.items() if "name" in one
        }
        self._given_up: list[int] = []
        """Places of records that are given up; the journal does not say so yet."""
        self._names: Counter[str] = Counter()
        self._last_prompt: Sequence[Any] = ()
        self._last_digests: list[str] = []
        self._settings = settings
        self._outlines: dict[str, Mapping[str, str]] = {}
        """Those of settings that the journal has of this rollout, by their digest."""
        for one in earlier:
            self._outlines.update(one.get("settings", {}))
        judged = [one for one in earlier if "judge" in one]
        self._judged = JudgeAnswers(judged) if judged else None
        self._loop = asyncio.get_running_loop()
        self.difference = ""
        """Differences of a request from the recorded one, in words; empty where there is none."""
        self.lost_before = _tokens_of(given_up)
        """Tokens of answers that an earlier session gave up."""
        self.turn = 0
        """Number of the last call, from 1."""

    def begin(
        self,
        prompt: Sequence[Any],
        model: str,
        sampling_args: Mapping[str, Any],
        tools: Sequence[Any],
    ) -> RecordedCall:
        """Begins a call; it has its answer, where there was the same one before."""
        self.turn += 1
        settings = self._settings.of(model, sampling_args, tools)
        request = {**settings.digests, "messages": self._digests_of(prompt)}
        call = RecordedCall(partial(self._keep_request, request, settings))
        for place, one in self._left.items():
            if is_same(one["request"], request):
                del self._left[place]
                call.answer = restore_response(one["response"]), one["ms"]
                return call
        if self._left:
            before = max(
                (one["request"] for one in self._left.values()),
                key=partial(equal_messages, now=request),
            )
            outlines = {**self._outlines, **settings.outlines}
            self.difference = difference(before, request, outlines)
        return call

    def result(self, name: str) -> RecordedResult:
        """Begins the next result of a name; it has its value, where there was one before."""
        self._names[name] += 1
        key = f"{name} {self._names[name]}"

        async def keep(value: Any) -> None:
            await self._write({"name": key, "value": value})

        found = RecordedResult(keep)
        if key in self._results:
            found.value = (self._results.pop(key)[1],)
        return found

    def take_unused(self) -> Tokens:
        """Gives up the unused answers and results; returns their tokens."""
        if not self._left and not self._results:  # as in most rollouts, at each of their calls
            return ()
        self._given_up += [*self._left, *(place for place, _ in self._results.values())]
        self._results.clear()
        tokens = _tokens_of(self._left.values())
        self._left.clear()
        return tokens

    def judge(self, request: Sequence[Any]) -> RecordedCall:
        """Begins a judge's call, in any thread; see `begin`.

        Args:
            request: All values that its answer depends on.
        """
        digest = digest_of(encode_whatever(list(request)), _JUDGE_DIGEST_BYTES)
        call = RecordedCall(partial(self._keep_from_any_thread, {"judge": digest}))
        record = None if self._judged is None else self._judged.take(digest)
        if record is not None:
            call.answer = restore_response(record["response"]), record["ms"]
        return call

    @staticmethod
    def share_judges(members: Iterable[RecordedCalls]) -> None:
        """Has rollouts that are scored together share the answers of judges."""
        shared = JudgeAnswers()
        for one in members:
            if one._judged is not None:
                shared.join(one._judged.take_all())
            one._judged = shared

    def take_unused_of_judges(self) -> Tokens:
        """Gives up the unused answers of judges to this rollout; returns their tokens."""
        if self._judged is None:
            return ()
        return _tokens_of(self._judged.take_all(self._record["row"]))

    def keep(
        self, request: Mapping[str, Any], response: Response, model_ms: float
    ) -> Awaitable[None]:
        """Writes an answer, with its record's digests of the request."""
        return self._write({**request, "ms": model_ms, "response": encode_model(response)})

    def _write(self, fields: Mapping[str, Any]) -> Awaitable[None]:
        record = {**self._record, **fields}
        if self._given_up:
            record["given_up"], self._given_up = self._given_up, []
        return self._keep(record)

    def _keep_request(
        self, request: Mapping[str, Any], settings: Settings, response: Response, model_ms: float
    ) -> Awaitable[None]:
        """Does the same, with the outlines of settings that the journal has not yet."""
        record: dict[str, Any] = {"request": request}
        if request["sampling"] not in self._outlines or request["tools"] not in self._outlines:
            self._outlines.update(settings.outlines)
            record["settings"] = settings.encoded_outlines
        return self.keep(record, response, model_ms)

    async def _keep_from_any_thread(
        self, request: Mapping[str, Any], response: Response, model_ms: float
    ) -> None:
        """Does the same, also on the loop of a thread that a reward function runs in."""

        async def keep() -> None:
            await self.keep(request, response, model_ms)

        if asyncio.get_running_loop() is self._loop:
            await keep()
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(keep(), self._loop))

    def _digests_of(self, prompt: Sequence[Any]) -> list[str]:
        """Those of messages that the last request began with, too, are known from it."""
        before = self._last_prompt
        same = min(len(before), len(prompt))
        if not all(map(is_, before, prompt)):
            same = next(place for place in range(same) if before[place] is not prompt[place])
        digests = [*self._last_digests[:same], *map(digest_of_message, prompt[same:])]
        self._last_prompt, self._last_digests = list(prompt), digests
        return digests


class RecordedCall(msgspec.Struct):
    """One model call.

    Args:
        keep: Writes its answer; gets that and its milliseconds.
        answer: The answer of before and its milliseconds; None where the call is to be made.
    """

    keep: Callable[[Response, float], Awaitable[None]]
    answer: tuple[Response, float] | None = None


class RecordedResult(msgspec.Struct):
    """One result of an environment's code.

    Args:
        keep: Writes it.
        value: Its value of before; None where it is to be made.
    """

    keep: Callable[[Any], Awaitable[None]]
    value: tuple[Any] | None = None


class JudgeAnswers:
    """Answers of judges to a rollout or to its group that were not replayed yet.

    Reward functions call judges in parallel, and each request stands for itself. So an answer is
    found by its request alone, in any order, and one that differs leaves the others as they are.
    Threads may take them.
    """

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self._by_request: dict[str, list[Mapping[str, Any]]] = {}
        self.join(records)

    def join(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Adds the records of other members of a group."""
        for one in records:
            self._by_request.setdefault(one["judge"], []).append(one)

    def take(self, digest: str) -> Mapping[str, Any] | None:
        """Takes the record of the first answer to a request; None where none is left."""
        found = self._by_request.get(digest)
        try:
            return found.pop(0) if found else None
        except IndexError:  # another thread was faster
            return None

    def take_all(self, row: int | None = None) -> list[Mapping[str, Any]]:
        """Takes all records that are left of one rollout, or by default of all."""
        taken: list[Mapping[str, Any]] = []
        for records in self._by_request.values():
            own = [one for one in records if row in (None, one["row"])]
            records[:] = [one for one in records if one not in own]
            taken += own
        return taken


def _tokens_of(records: Iterable[Mapping[str, Any]]) -> Tokens:
    tokens: Tokens = ()
    for one in records:
        tokens = plus(tokens, tokens_of_answer(one))
    return tokens

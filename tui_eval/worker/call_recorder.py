"""Records the answers of each rollout, and replays those of an earlier session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import ExitStack
from contextvars import Context
from typing import Any

import msgspec

from tui_eval.runs.plain_json import encode_whatever
from tui_eval.worker.ports import Journal
from tui_eval.worker.recorded_calls import RecordedCalls
from tui_eval.worker.request_digests import SettingsDigests
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.work import Work

DISK_IS_LATE_S = 0.5
"""Seconds up to which a write is not reported, and counts as time of its rollout.

Of one that takes longer nothing counts.
"""


class CallRecorder:
    """Gives rollouts their `RecordedCalls`: one for an attempt, and one for the scoring of a
    rollout that the journal has as generated.
    """

    def __init__(self, work: Work, journal: Journal) -> None:
        self._work = work
        self._journal = journal
        self._settings = SettingsDigests()
        self._writes = Writes()

    def attempt_begins(self, observer: RolloutObserver) -> None:
        """Records the answers of an attempt, and replays those of an earlier session."""
        if not self._work.env.replayable:
            return
        earlier = self._work.answers.pop(observer.row, ())
        if earlier:
            observer.attempt = earlier[0]["attempt"]
        observer.calls = self._calls(observer, earlier)

    @property
    def keeps_no_answers(self) -> bool:
        """Whether a rollout to be scored has no answer in the journal."""
        return not self._work.env.replayable and self._work.env.score_rollouts

    async def keep_generated(self, observer: RolloutObserver, line: bytes) -> None:
        """Writes the record of a generated rollout.

        It waits for that only where answers are not recorded: otherwise they lead to the same.
        """
        if self._work.env.replayable:
            self._journal.add(observer.row, line)
        else:
            await self._writes.wait(observer, self._journal.add_answer(observer.row, line))
            observer.code_begins()
        self.is_generated(observer)

    def is_generated(self, observer: RolloutObserver) -> None:
        """Records the calls that follow the record of a generated rollout."""
        self.give_up(observer)
        observer.calls = self._calls(observer, self._work.answers.pop(observer.row, ()))

    @staticmethod
    def give_up(observer: RolloutObserver) -> None:
        """Counts the answers of an earlier session that the rollout did not use."""
        if observer.calls is not None:
            observer.lose(observer.calls.take_unused())
            observer.lose(observer.calls.take_unused_of_judges())

    def _calls(
        self, observer: RolloutObserver, earlier: Sequence[Mapping[str, Any]]
    ) -> RecordedCalls:
        place = {"row": observer.row, "number": observer.number, "attempt": observer.attempt}
        record = {**place, "input": {"example_id": observer.example_id}}

        async def keep(record: Mapping[str, Any]) -> None:
            if observer.is_over:  # nobody needs it any more
                return
            line = encode_whatever(record) + b"\n"
            await self._writes.wait(observer, self._journal.add_answer(record["row"], line))
            observer.code_begins()

        calls = RecordedCalls(record, keep, self._settings, earlier)
        observer.lose(calls.lost_before)
        return calls


class _Write(msgspec.Struct, eq=False):
    observer: RolloutObserver
    began: float
    is_seen: bool = False
    waiting: ExitStack | None = None


class Writes:
    """Writes in flight: waiting for a slow disk is no part of a rollout's time.

    One timer looks at all of them, as one for each would take as long as the writing.
    """

    def __init__(self) -> None:
        self._open: set[_Write] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, observer: RolloutObserver, done: Awaitable[None]) -> None:
        """Waits until an answer of a rollout is on disk."""
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = loop.call_later(DISK_IS_LATE_S, self._look, loop)
        one = _Write(observer, loop.time())
        self._open.add(one)
        try:
            await done
        finally:
            self._open.discard(one)
            if one.waiting is not None:
                one.waiting.close()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        for one in self._open:
            if one.is_seen and one.waiting is None:
                one.observer.deadline.give_back(loop.time() - one.began)
                one.waiting = _waits_for_disk(one.observer)
            one.is_seen = True
        self._timer = loop.call_later(DISK_IS_LATE_S, self._look, loop) if self._open else None


def _waits_for_disk(observer: RolloutObserver) -> ExitStack:
    waiting = ExitStack()
    waiting.enter_context(observer.deadline.held())
    waiting.enter_context(observer.pauses.left_out(observer))
    wait, context = observer.waits_for("the journal"), Context()  # within no other call
    context.run(wait.__enter__)
    waiting.callback(context.run, wait.__exit__)
    return waiting

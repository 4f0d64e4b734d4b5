"""Waits that are no part of a rollout's time: pauses, and a disk that refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import Context
from typing import TYPE_CHECKING

import msgspec

from tui_eval.worker.gate import Gate

if TYPE_CHECKING:
    from tui_eval.worker.rollout_observer import RolloutObserver

DISK_IS_LATE_S = 0.5
"""A write that takes less is not reported, and counts as time of its rollout."""


class Pauses:
    """What a gate that is closed has of the waits of one rollout, which may overlap."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._waits, self._closed_before = 0, 0.0

    @contextmanager
    def left_out(self, observer: RolloutObserver) -> Iterator[None]:
        """Around waiting: what a pause has of it is no part of the rollout's time."""
        if not self._waits:
            self._closed_before = self._gate.closed_s
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits and observer.state is not None:
                observer.state.began += self._gate.closed_s - self._closed_before


class _Write(msgspec.Struct, eq=False):
    observer: RolloutObserver
    is_seen: bool = False
    waiting: ExitStack | None = None


class Writes:
    """Answers that are being written: waiting for a slow disk is no part of a rollout's time.

    One timer looks at all of them, as one for each would take as long as the writing.
    """

    def __init__(self) -> None:
        self._open: set[_Write] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, observer: RolloutObserver, done: Awaitable[None]) -> None:
        """Waits until an answer of a rollout is on disk."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(DISK_IS_LATE_S, self._look, loop)
        one = _Write(observer)
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

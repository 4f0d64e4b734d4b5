"""Waits that are no part of a rollout's time: pauses, and a disk that refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tui_eval.worker.gate import Gate

if TYPE_CHECKING:
    from tui_eval.worker.rollout_observer import RolloutObserver

DISK_IS_LATE_S = 0.5
"""A write that takes less is nothing to report, and takes nobody's time."""


class Pauses:
    """What a gate that is closed has of the waits of one rollout, which may overlap."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._waits, self._closed_before = 0, 0.0

    @contextmanager
    def left_out(self, watch: RolloutObserver) -> Iterator[None]:
        """Around waiting: what a pause has of it is no part of the rollout's time."""
        if not self._waits:
            self._closed_before = self._gate.closed_s
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits and watch.state is not None:
                watch.state.began += self._gate.closed_s - self._closed_before


async def written(watch: RolloutObserver, done: Awaitable[None]) -> None:
    """Waits until an answer is on disk: one that refuses for hours takes none of its time."""
    waits: list[ExitStack] = []
    loop = asyncio.get_running_loop()
    late = loop.call_later(DISK_IS_LATE_S, lambda: waits.append(_waits_for_disk(watch)))
    try:
        await done
    finally:
        late.cancel()
        for one in waits:
            one.close()


def _waits_for_disk(watch: RolloutObserver) -> ExitStack:
    waiting = ExitStack()
    waiting.enter_context(watch.deadline.held())
    waiting.enter_context(watch.pauses.left_out(watch))
    wait = watch.waits_for("the journal")
    wait.begin()  # in no context of the rollout's task
    waiting.callback(wait.end)
    return waiting

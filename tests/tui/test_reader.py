"""Rollouts whose reading was given up before it began: the threads were busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from scripted_rows import saved_rows
from scripted_run import ScriptedFeed, finished, run_started
from staging import over, staged_app

from tui_eval.fold.run_state import RunState
from tui_eval.tui.run import reader as reading
from tui_eval.tui.run.reader import Reader


class OneThread(ThreadPoolExecutor):
    """Reads one rollout at a time; while it `is_held` none, until row 2 is requested."""

    def __init__(self) -> None:
        super().__init__(1)
        self._free = threading.Event()

    def hold(self) -> None:
        """Nothing is read from now on."""
        self._free.clear()
        super().submit(self._free.wait)

    def let_go(self) -> None:
        """All that is wanted is read."""
        self._free.set()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        found = super().submit(fn, *args, **kwargs)
        if args[0] == 2:
            self.let_go()
        return found


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[OneThread]:
    thread = OneThread()
    monkeypatch.setattr(reading, "_threads", thread)
    yield thread
    thread.let_go()
    thread.shutdown()


async def test_who_comes_back_to_a_reading_that_never_began_has_it_begin(
    thread: OneThread,
) -> None:
    feed, state = ScriptedFeed([], saved_rows()), RunState()
    for event in (run_started(), finished(0)):
        state.apply(event)
    reader = Reader(feed, state)
    thread.hold()
    reader.open(0)
    given_up = asyncio.create_task(reader.read())
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    thread.let_go()
    assert await reader.read()
    assert reader.rollout is not None and reader.rollout.row == 0


async def test_a_rollout_that_was_left_unread_is_read_when_somebody_comes_back(
    thread: OneThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged_app(over()) as stage:
        await stage.until(lambda: stage.feed.read == [0])
        thread.hold()
        await stage.press("j")
        await stage.until(lambda: stage.live.reader.must_read)
        await stage.pilot.pause()
        monkeypatch.setattr(reading, "AT_ONCE_S", 60)
        await stage.press("j")
        assert stage.feed.read == [0, 2]
        monkeypatch.setattr(reading, "AT_ONCE_S", 0)
        thread.hold()
        await stage.press("k")
        thread.let_go()
        await stage.until(lambda: not stage.live.reader.must_read)
        assert stage.live.reader.rollout.row == 1

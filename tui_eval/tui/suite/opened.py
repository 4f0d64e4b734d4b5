"""The evaluations of a suite that are open: the one that is shown, and a few shown before it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui_eval.tui.run.session import RunSession, begin

if TYPE_CHECKING:
    from tui_eval.feeds.feed import OpenFeed
    from tui_eval.fold.suite_state import EvaluationState

KEPT = 4
"""Evaluations that stay open, so that going back and forth opens nothing."""


def place_of(one: EvaluationState, engine_lives: bool) -> tuple[str, str] | None:
    """Path and socket by which an evaluation can be opened now; None while it cannot.

    Args:
        engine_lives: Without its engine a run is read from disk, whatever was told of it last.
    """
    last = one.last
    if not last.path or not (last.socket or one.is_over or not engine_lives):
        return None
    return last.path, "" if one.is_over or not engine_lives else last.socket


class Opened:
    """Opens runs and closes those that were shown longest ago.

    A connection is never dropped half made: a listener that goes without a word stops its run.
    """

    def __init__(self, open_feed: OpenFeed) -> None:
        self._open_feed = open_feed
        self._runs: dict[int, RunSession] = {}
        self._joined: set[int] = set()
        self._starts: dict[int, asyncio.Task[bool]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def get(self, place: int) -> RunSession | None:
        """The open run of the evaluation at this place; it is the last to be closed."""
        run = self._runs.pop(place, None)
        if run is not None:
            self._runs[place] = run
        return run

    def __iter__(self) -> Iterator[RunSession]:
        """The open runs, the one shown last first."""
        return reversed(list(self._runs.values()))

    def open(self, place: int, path: str, socket: str) -> RunSession:
        """Begins to open a run, in place of the one that was open there."""
        self.drop(place)
        run = self._runs[place] = RunSession(self._open_feed(path, socket))
        self._starts[place] = asyncio.create_task(begin(run.feed, run.state))
        if socket:
            self._joined.add(place)
        while len(self._runs) > KEPT:
            self.drop(next(iter(self._runs)))
        return run

    def is_lost(self, place: int, one: EvaluationState) -> bool:
        """Whether a run was joined and told less than there is: it is to be opened anew."""
        run = self._runs.get(place)
        if run is None or place not in self._joined or run.feed.live or run.state.end is None:
            return False
        if run.state.run is None:
            return True
        return one.is_over and run.state.end.status == "failed" != one.last.status

    def drop(self, place: int) -> None:
        """Closes the run of an evaluation; it goes on without this listener."""
        run = self._runs.pop(place, None)
        self._joined.discard(place)
        if run is not None:
            closing = asyncio.create_task(self._close(run, self._starts.pop(place)))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, run: RunSession, start: asyncio.Task[bool]) -> None:
        from tui_eval.commands import Detach

        await start
        run.feed.send(Detach())
        await run.feed.close()

    async def close(self) -> None:
        """Closes all of them."""
        for place in list(self._runs):
            self.drop(place)
        await asyncio.gather(*self._closing)

"""A tick folds new events, and another comes soon only where some are left."""

from __future__ import annotations

import time
from typing import Any

from tui_eval.events import Event, Noticed
from tui_eval.feeds.feed import NullFeed
from tui_eval.tui.run.session import BATCH, RunSession


class ScriptedEvents(NullFeed):
    def __init__(self, events: int) -> None:
        self._events: list[Event] = [Noticed(0, 0.0, "info", str(at)) for at in range(events)]

    def drain(self, most: int = 5000) -> list[Event]:
        taken, self._events = self._events[:most], self._events[most:]
        return taken


def folded_too_late(events: int) -> tuple[bool, int]:
    shown: list[Any] = []
    is_all = RunSession(ScriptedEvents(events)).fold(time.perf_counter(), shown.append)
    return is_all, len(shown)


def test_a_tick_without_time_leaves_what_is_more_than_a_batch_for_soon() -> None:
    assert folded_too_late(2 * BATCH) == (False, BATCH)


def test_a_tick_that_was_held_up_and_folded_all_there_was_leaves_nothing() -> None:
    assert folded_too_late(40) == (True, 40)

"""The screen over a run of 100,000 rollouts: most have finished, the others come as time goes.

python -m bench.large_run_app
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from bench.filtering import EACH, finished, run_started, text_of
from tui_eval.events import Event, RolloutStaged, Stage
from tui_eval.feeds.feed import NullFeed
from tui_eval.fold.trajectory import Rollout, from_row
from tui_eval.tui.app import TuiEvalApp

ROWS, AHEAD, PER_SECOND = 100_000, 15_000, 500


class Growing(NullFeed):
    """A live feed that reports a fixed number of events a second."""

    live = True

    def __init__(self) -> None:
        self._events = _events()
        self._early = 1 + ROWS - AHEAD
        self._began = 0.0
        self._sent = 0

    def drain(self, most: int = 5000) -> list[Event]:
        """Events that are due: first the rollouts that finished before."""
        if self._early:
            due = min(self._early, most)
            self._early -= due
            self._began = time.monotonic()
        else:
            due = int((time.monotonic() - self._began) * PER_SECOND) - self._sent
            due = min(due, most)
            self._sent += due
        return [event for _ in range(due) if (event := next(self._events, None))]

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """A short trajectory."""
        answer: list[dict[str, Any]] = [{"role": "assistant", "content": f"Answer {row}. " * 40}]
        return from_row(row, {"prompt": f"Question {row}?", "completion": answer})


def _events() -> Iterator[Event]:
    dice = random.Random(5)
    yield run_started(time.time(), ROWS // EACH)
    for row in range(ROWS):
        if row >= ROWS - AHEAD:
            for turns, stage in enumerate((Stage.SETUP, Stage.MODEL, Stage.TOOL)):
                yield RolloutStaged(0, time.time(), row, stage, 1, turns, turns, 100, 50)
        event = finished(dice, row)
        event.question, event.answer = text_of(dice), text_of(dice)
        yield event


if __name__ == "__main__":
    TuiEvalApp(Growing()).run()

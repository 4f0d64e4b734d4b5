"""Listens to a file that is read in the background, and writes what others would add to it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from tui_eval.events import Event
from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.fold.run_state import RunState
from tui_eval.runs.saved_run import find_run

PATIENCE_S = 20.0


class Listener:
    """Drains a feed into a run's state, as a screen does."""

    def __init__(self, path: Path) -> None:
        self.feed = SavedFeed(find_run(path))
        self.state = RunState()
        self.events: list[Event] = []
        self.feed.open()

    def until(self, holds: Callable[[RunState], bool]) -> RunState:
        deadline = time.monotonic() + PATIENCE_S
        while not holds(self.state):
            assert time.monotonic() < deadline, self.events[-5:]
            for event in self.feed.drain():
                self.events.append(event)
                self.state.apply(event)
            time.sleep(0.005)
        return self.state

    def rewards(self) -> list[float | None]:
        """The rewards of all places, as the lines on disk have them."""
        found: list[float | None] = []
        for row in range(self.state.total):
            offset, length = self.state.offset[row], self.state.length[row]
            rollout = self.feed.saved(row, offset, length) if offset >= 0 else None
            assert offset < 0 or rollout is not None
            assert rollout is None or rollout.reward == self.state.reward[row]
            found.append(None if rollout is None else rollout.reward)
        return found


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def metadata(path: Path, examples: int, per_example: int) -> None:
    text = {"env_id": "e", "num_examples": examples, "rollouts_per_example": per_example}
    path.write_text(json.dumps(text))


def aged(path: Path) -> None:
    """Ages the file, as if nobody had written it for a while."""
    before = time.time() - 100
    os.utime(path, (before, before))


Listen = Callable[[Path], Listener]

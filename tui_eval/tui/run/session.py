"""A run that is watched: where its events come from, what they come to, what is read of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_eval import clock
from tui_eval.fold.run_state import RunState
from tui_eval.tui.run.reader import Reader
from tui_eval.tui.run.rollouts.following import Follower

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.feeds.feed import Feed

BATCH = 500
"""Events folded between two looks at the clock."""


class RunSession:
    """One run with its feed; it keeps the place of who reads it while another one is shown."""

    def __init__(self, feed: Feed, state: RunState | None = None) -> None:
        self.feed = feed
        self.state = RunState() if state is None else state
        self.reader = Reader(feed, self.state)
        self.follower = Follower(self.state)

    def take(self, event: ev.Event) -> None:
        """Takes in one event that the fold has already seen."""
        self.follower.take(event)
        self.reader.take(event)

    def fold(self, deadline: float, then: Callable[[ev.Event], None]) -> bool:
        """Folds what is new; returns whether all of it was.

        Args:
            deadline: When to leave the rest for later, as `time.perf_counter` counts.
            then: Called with every event once it is folded.
        """
        while events := self.feed.drain(BATCH):
            for event in events:
                self.state.apply(event)
                self.take(event)
                then(event)
            if time.perf_counter() > deadline:
                return len(events) < BATCH  # what has come meanwhile is the next tick's
        return True


async def begin(feed: Feed, state: RunState) -> bool:
    """Whether a feed could begin; a run that cannot be read has failed, and says why."""
    try:
        await feed.start()
    except (OSError, ValueError) as error:
        from tui_eval.events import RunFinished

        text = f"this run cannot be read: {error}"
        state.apply(RunFinished(0, clock.now(), "failed", 1, text))
        return False
    return True

"""The process that works on a run: its own, a suite's, or a program's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from tui_eval.engine.limits.budget import Budget
from tui_eval.runs.layout import RunDir


class Host(msgspec.Struct, frozen=True):
    """The process that a session runs in, and what it may do there.

    Args:
        is_own: The process is the run's own: signals have handlers of their own, and engine.log
            gets the log.
        cancels_within_s: Seconds that rollouts in flight get for their cleanup at an early end.
        giving_up: Called once where the run is to end early.
        loaded: Called once everything that the run needs is imported.
        spent: Why nothing new may begin, whatever the run's own budget is; empty while it may.
        budget: The budget that it shares with others; None for no limit.
        notify: Gets notices, with their level, for who watches several runs.
        open_log: Sends output to the engine.log at this path from now on.
        moved: Called where the run is in another directory from now on.
        all_begun: Called once no rollout of the run waits to begin.
    """

    is_own: bool
    cancels_within_s: float
    giving_up: Callable[[], None] = lambda: None
    loaded: Callable[[], object] = lambda: None
    spent: Callable[[], str] = lambda: ""
    budget: Budget | None = None
    notify: Callable[[str, str], None] = lambda level, text: None
    open_log: Callable[[Path], None] = lambda path: None
    moved: Callable[[RunDir], None] = lambda run: None
    all_begun: Callable[[], object] = lambda: None

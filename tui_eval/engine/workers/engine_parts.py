"""Parts of an engine for rollouts in workers: made by a session, used by all of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import msgspec

from tui_eval.engine.limits.limits import Held, Limits
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.runs.journal import Journal
from tui_eval.worker.ports import CallGuard, Rows
from tui_eval.worker.work import ColumnsSeen

PendingWork: TypeAlias = Coroutine[Any, Any, None] | asyncio.Future[None]
"""Work that a run waits for: a coroutine becomes a task, a future is done by others."""


class EngineParts(msgspec.Struct, frozen=True):
    """The parts of an engine that rollouts in workers need.

    Args:
        guard: Lets model calls through as they fit into budgets; None where there is none.
        warn: Gets sentences for people.
        start: Has the run wait for something; releases its slots at its end.
        fail: Ends the run; gets why.
        replica_failed: Takes a replica out; gets its endpoint and why.
        waiting: How many rollouts have not begun.
    """

    prepared: Prepared
    hub: Hub
    limits: Limits
    rows: Rows
    journal: Journal
    columns: ColumnsSeen
    guard: CallGuard | None
    out_of_budget: Callable[[], bool]
    warn: Callable[[str], None]
    start: Callable[[PendingWork, Held], None]
    fail: Callable[[str, Exception | None], None]
    replica_failed: Callable[[int, str], None]
    waiting: Callable[[], int]

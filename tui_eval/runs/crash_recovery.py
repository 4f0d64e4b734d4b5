"""Closes a run over its files alone, where its engine died or cannot be waited for.

The one writer of a run's end that needs nothing but the disk: an engine whose loop is held calls it
from another thread, a launcher after its engine was killed, a reader for a lock that nobody holds.
"""

from __future__ import annotations

import contextlib

from tui_eval import clock
from tui_eval.events import RunFinished
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import LockHeldError, RunLock, holder
from tui_eval.runs.outcome import finished, interrupted
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.saved_run import saved_events
from tui_eval.runs.summary_json import build_metadata
from tui_eval.runs.writer import write_metadata


def close_if_crashed(run: RunDir) -> None:
    """Closes a run that is locked though its engine is gone: it was interrupted."""
    if run.lock.exists():
        close_crashed_run(run, interrupted(clock.now()))


def close_crashed_run(run: RunDir, end: RunFinished) -> RunFinished:
    """Brings metadata.json up to the rows on disk and removes the lock, if nobody holds it.

    It is held meanwhile: a resume that begins in between would lose its own. See `write_outcome`.
    """
    try:
        lock = RunLock(run.lock, "")
    except LockHeldError:
        return end
    except OSError:  # a folder that cannot be written, or another user's lock
        return write_outcome(run, end) if holder(run.lock) is None else end
    try:
        return write_outcome(run, end)
    finally:
        lock.release()


def write_outcome(run: RunDir, end: RunFinished) -> RunFinished:
    """Brings metadata.json up to the rows on disk; for who holds the lock, or knows nobody does.

    A run that seems to have been interrupted when all its rows were on disk is finished.
    """
    before = read_metadata(run)
    state = RunState()
    for event in saved_events(run):
        if not isinstance(event, RunFinished):
            state.apply(event)
    if end.status == "interrupted" and 0 < state.total <= state.finished:
        end = finished(end.at, state.errored)
    state.apply(end)
    with contextlib.suppress(OSError):  # the rows are what counts, and a resume writes it again
        write_metadata(run, build_metadata(state, before), Redactor())
    return end

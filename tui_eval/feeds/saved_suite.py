"""Feed of a file's evaluations that no engine works on, read from disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec.structs import replace

from tui_eval import clock
from tui_eval.config.env_file import load_env_file
from tui_eval.config.expansion import expand
from tui_eval.config.options import NEWEST
from tui_eval.config.plan import Request
from tui_eval.engine.setup.resume_match import PlannedEvaluation, choose_runs
from tui_eval.engine.suite.evaluation_status import EvaluationStatus
from tui_eval.errors import RefusedError
from tui_eval.events import (
    EvaluationMoved,
    Event,
    SuiteStarted,
)
from tui_eval.feeds.feed import NullFeed
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import CUT_OFF
from tui_eval.runs.layout import RunDir
from tui_eval.runs.outcome import saved_suite_outcome, unreadable
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.saved_run import saved_events


def find_saved(file: Path) -> list[PlannedEvaluation]:
    """The evaluations of a file, each with its newest run where it has one; imports none of them.

    Raises:
        RefusedError: Something is wrong with the file, or an engine is at work on one of the runs.
    """
    load_env_file()
    found = expand(Request(env_id=str(file), raw={"resume": NEWEST}))
    planned = [
        PlannedEvaluation(one.plan, one.resume) for one in found.evaluations if one.plan is not None
    ]
    faults = found.faults or choose_runs(planned, accept_changes=False, newest_first=True)
    if faults:
        raise RefusedError(faults)
    return planned


class SavedSuite(NullFeed):
    """The events of an engine on the evaluations of a file, as far as they are on disk."""

    def __init__(self, file: Path, evaluations: list[PlannedEvaluation]) -> None:
        self._runs = [one.run for one in evaluations]
        self._every = [EvaluationStatus(place, one.plan) for place, one in enumerate(evaluations)]
        listed = [one.listed for one in self._every]
        self._events: list[Event] = [SuiteStarted(0, 0.0, str(file.resolve()), listed, 0)]
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to read one run after the other."""
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        for one, run in zip(self._every, self._runs, strict=True):
            if run is not None:
                self._events.append(await asyncio.to_thread(_moved, one, run))
        self._events.append(saved_suite_outcome(one.last for one in self._every))

    def drain(self, most: int = 5000) -> list[Event]:
        taken = self._events[:most]
        del self._events[:most]
        return taken

    async def close(self) -> None:
        """Reads no further run."""
        if self._reading is not None:
            self._reading.cancel()


def _moved(one: EvaluationStatus, run: RunDir) -> EvaluationMoved:
    """Last event of an evaluation whose run nobody works on."""
    state = RunState()
    try:
        for event in saved_events(run):
            state.apply(event)
    except OSError as error:
        return one.over(unreadable(clock.now(), error))
    assert state.run is not None and state.end is not None, "its events are complete"
    one.begin(state.run, state.finished, "").state = state
    end = state.end
    was_recorded = end.status != "interrupted" or read_metadata(run).get("status") == end.status
    reported = one.over(end if was_recorded else replace(end, status=CUT_OFF))
    reported.at = end.at
    return reported

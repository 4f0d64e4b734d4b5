"""Results of runs that are over: pushed where that was requested, printed, and an exit code.

A run alone is printed with all its numbers, several in one table; what is pushed, which exit code
that gives, and the JSON object of each run are the same for both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from tui_eval import clock
from tui_eval.cli.console.printing import print_json, print_stderr, print_stdout, warn
from tui_eval.cli.console.report import ending_lines
from tui_eval.cli.console.suite_lines import closing_lines
from tui_eval.cli.console.summary_lines import result_lines
from tui_eval.cli.push_processes import code_with_pushes, push_requested
from tui_eval.events import RunFinished
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import EvaluationState, SuiteState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.outcome import UNSTARTED, interrupted, reported_outcome
from tui_eval.runs.saved_run import read_run
from tui_eval.runs.summary_json import several_object, summary_object, unstarted_object


class Result(msgspec.Struct, frozen=True):
    """One run that is over, or an evaluation that has none.

    Args:
        state: None where the run never began.
        status, text: How it ended, and why.
        exit_code: None where there is none, as of an evaluation that never began.
        beside: Gives keys of its JSON object beside the summary.
    """

    state: RunState | None
    status: str
    text: str
    exit_code: int | None
    beside: Callable[[], Mapping[str, Any]] = dict

    @property
    def run(self) -> RunDir | None:
        """The directory of the run; None where it never began."""
        started = self.state.run if self.state is not None else None
        return RunDir(Path(started.path)) if started is not None else None

    def as_object(self, push: Mapping[str, Any] | None) -> dict[str, Any]:
        """The summary, or what is in place of one, with the result of its push."""
        if self.state is None:
            found = unstarted_object(self.status, self.exit_code, self.text)
            return {**found, **self.beside()}
        hub, code = {"hub": push} if push is not None else {}, self.exit_code
        if push is not None and code is not None:
            code = code_with_pushes(code, [push])
        return {**summary_object(self.state), **hub, **self.beside(), "exit_code": code}


def report_alone(
    state: RunState,
    more: Callable[[RunDir], Mapping[str, Any]] = lambda run: {},
    *,
    as_json: bool = False,
    abbreviated: bool = False,
) -> int:
    """Reports a run alone; returns the exit code.

    Args:
        more: Keys of its JSON object beside its summary.
        as_json: The summary is one JSON object on stdout; all else goes to stderr.
        abbreviated: Leave out the tables.
    """
    end = state.end or interrupted(clock.now(), UNSTARTED)
    run = RunDir(Path(state.run.path)) if state.run is not None else None
    beside = dict if run is None else functools.partial(more, run)
    one = Result(state if run else None, end.status, end.text, end.exit_code, beside)
    lines = chain(result_lines(state, abbreviated=abbreviated), ending_lines(state))
    code = _report([one], end, lines, lambda objects, code: objects[0], as_json=as_json)
    if as_json and end.status != "finished":
        print_stderr(ending_lines(state))
    elif not as_json and run is None and end.status == "interrupted":
        warn(f"{UNSTARTED.capitalize()}.")
    return code


def report_several(
    suite: SuiteState, *, as_json: bool = False, abbreviated: bool = False, pushes: bool = True
) -> int:
    """Reports evaluations that are over, from the disk; returns the exit code of all.

    Args:
        as_json: The summaries are one JSON object on stdout; all else goes to stderr.
        abbreviated: Leave out the table.
        pushes: False where that is left to who began them.
    """
    end = suite.end
    assert end is not None, "evaluations are reported when they are over"
    results = [_result_of(one) for one in suite.evaluations]
    lines = closing_lines(suite, [one.state for one in results], abbreviated=abbreviated)
    return _report(results, end, lines, several_object, as_json=as_json, pushes=pushes)


def _report(
    results: Sequence[Result],
    end: RunFinished,
    lines: Iterable[str],
    together: Callable[[list[dict[str, Any]], int], Mapping[str, Any]],
    *,
    as_json: bool,
    pushes: bool = True,
) -> int:
    """Pushes runs where that was requested, and prints all results as text or JSON.

    Args:
        lines: The results as text.
        together: The JSON object of the objects of all, given the exit code.
    """
    if end.status == "failed":
        warn(f"error: {end.text}")
    runs = {
        place: (run, one.status)
        for place, one in enumerate(results)
        if (run := one.run) is not None
    }
    pushed = push_requested(runs) if pushes else {}
    code = code_with_pushes(end.exit_code, pushed.values())
    if as_json:
        objects = [one.as_object(pushed.get(place)) for place, one in enumerate(results)]
        print_json(together(objects, code))
    else:
        print_stdout(lines)
    return code


def _result_of(one: EvaluationState) -> Result:
    """The result of an evaluation: its run from the disk, ended as it was reported."""
    title = {"title": one.listed.title, "varies": one.listed.varies}
    last, run = one.last, RunDir(Path(one.last.path))
    state = read_run(run)[0] if last.path and run.path.exists() else None
    end = state.end if state is not None else None
    if state is None or end is not None:  # else somebody works on it
        end = reported_outcome(last, end)
    if state is not None:
        state.last_cause, state.end = last.cause, end
    code = end.exit_code if end is not None else None
    return Result(state, last.status, last.text, code, lambda: title)

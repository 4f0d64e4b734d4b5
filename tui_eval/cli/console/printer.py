"""Prints the events of an engine: of a run alone, or of the evaluations of a file.

A run is printed as it goes, its rollouts' errors too; of several only each begin and end is, and
progress is of all together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tui_eval.cli.console.printing import print_stderr, print_stdout, refuse, warn
from tui_eval.cli.console.progress_lines import ErrorLines, ProgressLines
from tui_eval.cli.console.report import gives_way, opening_lines, progress_line
from tui_eval.cli.console.results import report_alone, report_several
from tui_eval.cli.console.suite_lines import begun_text, ended_text, name_of, suite_opening_lines
from tui_eval.errors import Fault
from tui_eval.events import (
    EvaluationMoved,
    Event,
    Noticed,
    RolloutFinished,
    RunStarted,
    SuiteStarted,
)
from tui_eval.fold.columns import number_of_row
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import EvaluationState, SuiteState
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import read_rollout, read_run
from tui_eval.text.figures import plural


class Printer:
    """Prints the start, progress now and then, errors, and the results.

    `state` is of a run alone, `suite` of several evaluations.

    Args:
        saved: Reads a rollout of the run alone, given its row, offset and length.
        as_json: The results are one JSON object on stdout; all else goes to stderr.
        quiet: Neither the start nor progress is printed.
    """

    def __init__(
        self,
        saved: Callable[[int, int, int], Rollout | None] = lambda row, offset, length: None,
        *,
        as_json: bool = False,
        quiet: bool = False,
    ) -> None:
        self.as_json = as_json
        self.state = RunState(keeps_texts=False)
        self.suite = SuiteState()
        self._saved = saved
        print_lines = print_stderr if as_json else print_stdout
        self._print: Callable[[Iterable[str]], None] = (
            (lambda lines: None) if quiet else print_lines
        )
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        self._complete: set[int] = set()
        self._errors = ErrorLines()
        self._progress = ProgressLines()

    @property
    def run(self) -> RunDir | None:
        """The run alone, once it has begun."""
        return RunDir(Path(self.state.run.path)) if self.state.run is not None else None

    @property
    def is_over(self) -> bool:
        """Whether nothing follows."""
        return self.state.end is not None or bool(self.state.refused)

    def print_loading(self, target: str) -> None:
        """Prints the environment, or the file of evaluations, that is loaded."""
        kind = "evaluations" if target.endswith(".toml") else "environment"
        self._print([f"Loading {kind}: {target}"])

    def handle(self, event: Event) -> bool:
        """Takes in an event and prints its line, if it has one; False where it is known already."""
        finished = self.state.finished
        self.state.apply(event)
        if isinstance(event, RolloutFinished) and self.state.finished == finished:
            return False
        self.suite.apply(event)
        match event:
            case RunStarted():
                self._print([*opening_lines(self.state), ""])
            case SuiteStarted():
                self._print([*suite_opening_lines(event), ""])
            case EvaluationMoved() if event.index < len(self.suite.evaluations):
                self._print_moved(event, self.suite.evaluations[event.index])
            case Noticed():
                warn(f"{event.level}: {event.text}")
            case RolloutFinished() if event.error is not None:
                read = functools.partial(self._saved, event.row, event.offset, event.length)
                whose = f"example {event.example_id}, rollout {event.number}"
                self._print_error(self.state, event.error, whose, read)
        return True

    def _print_moved(self, event: EvaluationMoved, one: EvaluationState) -> None:
        name = name_of(self.suite, event.index)
        if event.status == "running" and event.index not in self._begun:
            self._begun.add(event.index)
            if event.finished and event.finished >= one.total:
                self._complete.add(event.index)  # it only ends
                return
            self._print([f"{name}: {begun_text(event, one)}"])
        elif one.is_over and event.index not in self._ended:
            self._ended.add(event.index)
            if event.status in ("refused", "failed"):
                warn(f"error: {name}: {event.status}: {event.text}")
            if event.errored:
                self._print_errors_of(name, RunDir(Path(event.path)))
            if event.status != "refused":
                ended = ended_text(event, was_complete=event.index in self._complete)
                self._print([f"{name}: {ended}"])
            elif one.listed.total:
                self._print([f"Now {plural(self.suite.rollouts, 'rollout')} in all"])

    def _print_errors_of(self, name: str, run: RunDir) -> None:
        """Some errors of an evaluation that is over, of each kind a few over all of them."""
        state, _ = read_run(run)
        for row, kind in sorted(state.errors.items()):
            read = functools.partial(read_rollout, run, row, state.offset[row], state.length[row])
            rollout = f"example {state.example_id(row)}, rollout {number_of_row(state, row)}"
            self._print_error(state, kind, f"{name}: {rollout}", read)

    def _print_error(
        self, state: RunState, kind: str, whose: str, read: Callable[[], Rollout | None]
    ) -> None:
        self._errors.print(kind, whose, state.run.env_id if state.run else "", read)

    def print_progress(self) -> None:
        """Prints how far it is, or what it waits for, where a line is due."""
        state, every = self.state, self.suite.evaluations
        finished, total, over, also = state.finished, state.total, "", gives_way(state)
        waiting = state.sleeping, state.last_cause, state.next_try_at
        if self.suite.started is not None:
            finished, total = sum(one.last.finished for one in every), self.suite.rollouts
            over, also = f", {self.suite.over} of {plural(len(every), 'evaluation')} over", ""
            waiting = _waiting(self.suite)
        line: str | None
        if state.refusal is not None:
            line = self._progress.refusal_line(state.refusal)
        elif self._progress.is_due(finished, total):
            line = progress_line(finished, total) + over
        else:
            line = self._progress.waiting_line(*waiting)
        if line:
            self._print([line + also])

    def sum_up(
        self,
        more: Callable[[RunDir], Mapping[str, Any]] = lambda run: {},
        *,
        abbreviated: bool = False,
    ) -> int:
        """Pushes runs and prints the results of all; returns the exit code.

        Args:
            more: Keys of a run's JSON object beside its summary.
            abbreviated: Leave out the tables.
        """
        how = {"as_json": self.as_json, "abbreviated": abbreviated}
        if self.suite.started is not None:
            return report_several(self.suite, **how)
        if self.state.refused:
            return refuse((Fault(*fault) for fault in self.state.refused), as_json=self.as_json)
        return report_alone(self.state, more, **how)


def _waiting(suite: SuiteState) -> tuple[int, str, float]:
    """Rollouts of a suite that wait to be tried again, the last cause, and the next try."""
    waiting = [one.last for one in suite.evaluations if one.last.sleeping and not one.is_over]
    if not waiting:
        return 0, "", 0.0
    last = max(waiting, key=lambda one: one.at)
    return sum(one.sleeping for one in waiting), last.cause, min(one.again_at for one in waiting)

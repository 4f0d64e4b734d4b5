"""Several evaluations as plain lines: each begin and end, then one table of all."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tui_eval.cli.console.lines import ErrorLines, ProgressLines
from tui_eval.cli.console.printing import print_json, print_stderr, print_stdout, warn
from tui_eval.cli.console.report import progress_line
from tui_eval.cli.console.summary_lines import met, missing_column_lines
from tui_eval.cli.console.table_lines import metric_lines, table_lines, table_width
from tui_eval.cli.pushing import code_with_pushes, dataset_of, push_requested
from tui_eval.cli.resume_command import short_path, suite_resume_lines
from tui_eval.events import STOPPED_EARLY, EvaluationMoved, Event, ListedEvaluation, SuiteStarted
from tui_eval.fold.columns import number_of_row
from tui_eval.fold.outcome_words import errors_as_0, has_many_errors
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import EvaluationState, SuiteState
from tui_eval.fold.summary import summarize
from tui_eval.runs.layout import RunDir, is_unsaved
from tui_eval.runs.opening import read_rollout, read_run
from tui_eval.runs.summary_json import several_object, summary_object, unstarted_object
from tui_eval.text.evaluation_words import rollouts_on_disk
from tui_eval.text.figures import limit_text, plural, reward_text

MOST_PATHS = 20
WAITING = "waiting"


class SuiteConsole:
    """Prints the events of a suite's root socket; silent where there is one run alone.

    Args:
        state: Events that another listener received before.
        as_json: The summary is one JSON object on stdout; all else goes to stderr.
    """

    def __init__(self, state: SuiteState | None = None, *, as_json: bool = False) -> None:
        self.state = SuiteState() if state is None else state
        self._as_json = as_json
        self._say = print_stderr if as_json else print_stdout
        self._begun: set[int] = set()
        self._complete: set[int] = set()
        self._ended: set[int] = set()
        self._progress = ProgressLines()
        self._errors = ErrorLines()

    def handle(self, event: Event) -> None:
        """Takes in an event and prints its line, if it has one."""
        self.state.apply(event)
        if isinstance(event, SuiteStarted):
            self._say([*self._opening_lines(event), ""])
        elif isinstance(event, EvaluationMoved) and event.index < len(self.state.evaluations):
            self._print_moved(event, self.state.evaluations[event.index])

    def _opening_lines(self, event: SuiteStarted) -> Iterator[str]:
        count = len(event.evaluations)
        total = sum(one.total for one in event.evaluations)
        open_ = any(one.total == 0 for one in event.evaluations)
        yield (
            f"{plural(count, 'evaluation')}, {total}{' or more' if open_ else ''} rollouts in all, "
            f"max_concurrent {limit_text(event.max_concurrent or 0)}"
        )
        models = dict.fromkeys(one.model for one in event.evaluations)
        yield f"{'Model' if len(models) == 1 else 'Models'}: {', '.join(models)}"

    def _print_moved(self, event: EvaluationMoved, one: EvaluationState) -> None:
        name = self._name(event.index)
        if event.status == "running" and event.index not in self._begun:
            self._begun.add(event.index)
            self._print_begun(event, one)
        elif one.is_over and event.index not in self._ended:
            self._ended.add(event.index)
            if event.status in ("refused", "failed"):
                warn(f"error: {name}: {event.status}: {event.text}")
            if event.errored:
                self._print_errors(name, RunDir(Path(event.path)))
            if event.status == "refused":
                if one.listed.total:
                    self._say([f"Now {plural(self.state.rollouts, 'rollout')} in all"])
                return
            word = "complete already" if event.index in self._complete else event.status
            if has_many_errors(event.errored, event.finished):
                word += " with many errors"
            self._say([f"{name}: {word}, {_ending(event)}"])

    def _print_begun(self, event: EvaluationMoved, one: EvaluationState) -> None:
        """Prints that an evaluation begins or resumes; a complete one only ends."""
        if event.finished and event.finished >= one.total:
            self._complete.add(event.index)
            return
        rollouts = plural(one.total, "rollout")
        text = (
            f"resumes, {event.finished} of {rollouts} done"
            if event.finished
            else f"begins, {rollouts}"
        )
        self._say([f"{self._name(event.index)}: {text}"])

    def _name(self, place: int) -> str:
        listed = self.state.evaluations[place].listed
        number = f"[{place + 1}/{len(self.state.evaluations)}]"
        if sum(one.listed.title == listed.title for one in self.state.evaluations) == 1:
            return f"{number} {listed.title}"
        varies = ", ".join(_differences(listed))
        return f"{number} {listed.title}" + (f" ({varies})" if varies else "")

    def _print_errors(self, name: str, run: RunDir) -> None:
        """Some errors of an evaluation that is over, of each kind a few over all of them."""
        state, _ = read_run(run)
        for row, kind in sorted(state.errors.items()):
            self._errors.print(
                kind,
                f"{name}: example {state.example_id(row)}, rollout {number_of_row(state, row)}",
                state.run.env_id if state.run else "",
                functools.partial(read_rollout, run, row, state.offset[row], state.length[row]),
            )

    def print_progress(self) -> None:
        """Prints the progress of the suite, now and then."""
        every = self.state.evaluations
        finished, total = sum(one.last.finished for one in every), self.state.rollouts
        if self._progress.is_due(finished, total):
            over = f"{self.state.over} of {plural(len(every), 'evaluation')} over"
            self._say([f"{progress_line(finished, total)}, {over}"])
            return
        waiting = [one.last for one in every if one.last.sleeping and not one.is_over]
        if waiting and (
            line := self._progress.waiting_line(
                sum(one.sleeping for one in waiting),
                max(waiting, key=lambda one: one.at).cause,
                min(one.again_at for one in waiting),
            )
        ):
            self._say([line])

    def sum_up(self, *, abbreviated: bool, pushes: bool = True) -> int:
        """Pushes runs and prints the results of all; returns the exit code.

        Args:
            abbreviated: Leave out the table.
            pushes: False where that is left to who began the suite.
        """
        end = self.state.end
        assert end is not None, "the console ends with the suite"
        if end.status == "failed":
            warn(f"error: {end.text}")
        runs = [_read(one) for one in self.state.evaluations]
        hubs = self._push(runs) if pushes else {}
        code = code_with_pushes(end.exit_code, hubs.values())
        if self._as_json:
            print_json(several_object(self._objects(runs, hubs), code))
        else:
            print_stdout(self._closing_lines(runs, abbreviated))
        return code

    def _push(self, runs: list[RunState | None]) -> dict[int, dict[str, Any]]:
        """Results of the pushes that the file requests, by the place of the evaluation."""
        return push_requested(
            {
                place: (RunDir(Path(state.run.path)), one.last.status)
                for place, (one, state) in enumerate(zip(self.state.evaluations, runs, strict=True))
                if state is not None and state.run is not None
            }
        )

    def _objects(
        self, runs: list[RunState | None], hubs: dict[int, dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        for place, (one, state) in enumerate(zip(self.state.evaluations, runs, strict=True)):
            title = {"title": one.listed.title, "varies": one.listed.varies}
            if state is not None:
                hub = {"hub": hubs[place]} if place in hubs else {}
                reported = {**summary_object(state), **title, **hub}
                if hub:
                    reported["exit_code"] = code_with_pushes(reported["exit_code"], hub.values())
                yield reported
                continue
            status, text = one.last.status, one.last.text
            codes = {"refused": 2, "failed": 1}
            yield {**unstarted_object(status, codes.get(status), text), **title}

    def _closing_lines(self, runs: list[RunState | None], abbreviated: bool) -> Iterator[str]:
        found = [
            (one, state)
            for one, state in zip(self.state.evaluations, runs, strict=True)
            if state is not None
        ]
        if found and not abbreviated:
            varies = [what_varies(one.listed) for one, _ in found]
            summaries = [summarize(state) for _, state in found]
            yield ""
            yield from table_lines(summaries, varies, table_width())
            names = [self._name(place) for place, state in enumerate(runs) if state is not None]
            yield from metric_lines(summaries, names)
        yield ""
        every = self.state.evaluations
        finished = sum(one.last.status == "finished" for one in every)
        early = sum(one.last.status == STOPPED_EARLY for one in every)
        also = f", {early} stopped early" if early else ""
        yield f"{finished} of {plural(len(every), 'evaluation')} finished{also}"
        for place, one in enumerate(every):
            if one.last.status in ("refused", "failed"):
                yield f"{self._name(place)}: {one.last.status}: {one.last.text}"
            if one.last.cause and one.last.finished == one.last.errored:
                yield f"{self._name(place)}: no rollout succeeded; {met(one.last.cause)}"
            state = runs[place]
            for line in missing_column_lines(summarize(state)) if state is not None else ():
                yield f"{self._name(place)}: column {line}"
        yield from self._never_begun()
        if finished < len(every) and (started := self.state.started) is not None:
            ended = self.state.end.status if self.state.end else ""
            yield from suite_resume_lines(Path(started.path), started.words, ended, runs)
        yield from _path_lines([Path(one.last.path) for one, _ in found])

    def _never_begun(self) -> Iterator[str]:
        waiting = [n for n, one in enumerate(self.state.evaluations) if one.last.status == WAITING]
        yield from (f"{self._name(place)}: not begun" for place in waiting[:MOST_PATHS])
        if len(waiting) > MOST_PATHS:
            yield f"and {plural(len(waiting) - MOST_PATHS, 'other')} not begun"


def show_at_work(suite: SuiteState, pid: int) -> None:
    """Prints the suite's progress, the process that works on it, and how to join that."""
    print_stdout(["", f"Running in process {pid}: {rollouts_on_disk(suite)}"])
    if suite.started is not None:
        print_stdout(
            [f"Join it: tui-eval open {shlex.quote(short_path(Path(suite.started.path)))}"]
        )
    runs = [RunDir(Path(one.last.path)) for one in suite.evaluations if one.last.path]
    if any(dataset_of(run) is not None for run in runs):
        warn("Push each run once it is finished: tui-eval push RUN")


def what_varies(listed: ListedEvaluation) -> str:
    """Label of an evaluation in a table that has columns for the sizes."""
    text = ", ".join(_differences(listed, without=("num_examples", "rollouts_per_example")))
    if listed.title == listed.env_id:
        return text
    return f"{listed.title}: {text}" if text else listed.title


def _differences(listed: ListedEvaluation, without: Sequence[str] = ()) -> Iterator[str]:
    for name, value in listed.varies.items():
        if name not in without:
            shown = name.removeprefix("env_args.")
            yield value if name == "model" else f"{shown}={value}"


def _ending(event: EvaluationMoved) -> str:
    done = plural(event.finished, "rollout")
    if event.finished < event.total:
        done = f"{event.finished} of {plural(event.total, 'rollout')}"
    reward = f", reward {reward_text(event.reward)}" if event.reward is not None else ""
    if event.reward_std is not None:
        reward += f" ± {reward_text(event.reward_std)}"
    if not event.errored:
        return f"{done}{reward}"
    as_0 = errors_as_0(event.reward, event.errored, event.finished)
    also = f" ({reward_text(as_0)} with errors as 0)" if event.reward is not None else ""
    return f"{done}{reward}{also}, {event.errored} errored"


def _read(one: EvaluationState) -> RunState | None:
    """An evaluation's run from the disk, ended as it was reported; None where it never began."""
    run = RunDir(Path(one.last.path))
    if not one.last.path or not run.path.exists():
        return None
    state, _ = read_run(run)
    state.last_cause = one.last.cause
    if one.last.status == "failed" and state.end is not None:
        state.end.status, state.end.exit_code, state.end.text = "failed", 1, one.last.text
    return state


def _path_lines(paths: list[Path]) -> Iterator[str]:
    for unsaved in (False, True):
        some = [path for path in paths if is_unsaved(RunDir(path)) == unsaved]
        if some:
            yield "Unsaved, kept 14 days:" if unsaved else "Results saved to:"
            yield from (f"  {path}" for path in some[:MOST_PATHS])
        if some and unsaved:
            yield f"Save them: {shlex.join(['tui-eval', 'save', *map(str, some[:MOST_PATHS])])}"
        if len(some) > MOST_PATHS:
            folder = os.path.commonpath([path.parent for path in some])
            yield f"  and {len(some) - MOST_PATHS} others under {folder}"

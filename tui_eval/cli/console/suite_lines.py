"""Lines of the evaluations of a file: each begin and end, the table of all, and their places."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_eval.cli.console.printing import print_stdout, warn
from tui_eval.cli.console.summary_lines import met, missing_column_lines
from tui_eval.cli.console.table_lines import metric_lines, table_lines, table_width
from tui_eval.cli.push_processes import dataset_of
from tui_eval.cli.resume_command import short_path, suite_resume_lines
from tui_eval.events import STOPPED_EARLY, EvaluationMoved, ListedEvaluation, SuiteStarted
from tui_eval.fold.outcome_words import errors_as_0, has_many_errors
from tui_eval.fold.run_state import RunState
from tui_eval.fold.suite_state import EvaluationState, SuiteState
from tui_eval.fold.summary import summarize
from tui_eval.runs.layout import RunDir, is_unsaved
from tui_eval.text.evaluation_words import rollouts_on_disk
from tui_eval.text.figures import limit_text, plural, reward_text

MOST_PATHS = 20
WAITING = "waiting"


def suite_opening_lines(event: SuiteStarted) -> Iterator[str]:
    """The evaluations that are about to begin."""
    count = len(event.evaluations)
    total = sum(one.total for one in event.evaluations)
    open_ = any(one.total == 0 for one in event.evaluations)
    yield (
        f"{plural(count, 'evaluation')}, {total}{' or more' if open_ else ''} rollouts in all, "
        f"max_concurrent {limit_text(event.max_concurrent or 0)}"
    )
    models = dict.fromkeys(one.model for one in event.evaluations)
    yield f"{'Model' if len(models) == 1 else 'Models'}: {', '.join(models)}"


def name_of(suite: SuiteState, place: int) -> str:
    """Name of an evaluation among all: its number, and what varies where titles are equal."""
    listed = suite.evaluations[place].listed
    number = f"[{place + 1}/{len(suite.evaluations)}]"
    if sum(one.listed.title == listed.title for one in suite.evaluations) == 1:
        return f"{number} {listed.title}"
    varies = ", ".join(_differences(listed))
    return f"{number} {listed.title}" + (f" ({varies})" if varies else "")


def begun_text(event: EvaluationMoved, one: EvaluationState) -> str:
    """The beginning or resume of an evaluation."""
    rollouts = plural(one.total, "rollout")
    if event.finished:
        return f"resumes, {event.finished} of {rollouts} done"
    return f"begins, {rollouts}"


def ended_text(event: EvaluationMoved, *, was_complete: bool) -> str:
    """The end of an evaluation, with its numbers."""
    word = "complete already" if was_complete else event.status
    if has_many_errors(event.errored, event.finished):
        word += " with many errors"
    return f"{word}, {_ending(event)}"


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


def closing_lines(
    suite: SuiteState, runs: Sequence[RunState | None], *, abbreviated: bool
) -> Iterator[str]:
    """The table of all evaluations, what went wrong, how to resume them, and where they are.

    Args:
        runs: The run of each evaluation; None where it never began.
        abbreviated: Leave out the table.
    """
    found = [
        (one, state)
        for one, state in zip(suite.evaluations, runs, strict=True)
        if state is not None
    ]
    if found and not abbreviated:
        varies = [_label(one.listed) for one, _ in found]
        summaries = [summarize(state) for _, state in found]
        yield ""
        yield from table_lines(summaries, varies, table_width())
        names = [name_of(suite, place) for place, state in enumerate(runs) if state is not None]
        yield from metric_lines(summaries, names)
    yield ""
    every = suite.evaluations
    finished = sum(one.last.status == "finished" for one in every)
    early = sum(one.last.status == STOPPED_EARLY for one in every)
    also = f", {early} stopped early" if early else ""
    yield f"{finished} of {plural(len(every), 'evaluation')} finished{also}"
    for place, one in enumerate(every):
        if one.last.status in ("refused", "failed"):
            yield f"{name_of(suite, place)}: {one.last.status}: {one.last.text}"
        if one.last.cause and one.last.finished == one.last.errored:
            yield f"{name_of(suite, place)}: no rollout succeeded; {met(one.last.cause)}"
        state = runs[place]
        for line in missing_column_lines(summarize(state)) if state is not None else ():
            yield f"{name_of(suite, place)}: column {line}"
    yield from _never_begun(suite)
    if finished < len(every) and (started := suite.started) is not None:
        ended = suite.end.status if suite.end else ""
        yield from suite_resume_lines(Path(started.path), started.words, ended, runs)
    yield from _path_lines([Path(one.last.path) for one, _ in found])


def _never_begun(suite: SuiteState) -> Iterator[str]:
    waiting = [n for n, one in enumerate(suite.evaluations) if one.last.status == WAITING]
    yield from (f"{name_of(suite, place)}: not begun" for place in waiting[:MOST_PATHS])
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


def _label(listed: ListedEvaluation) -> str:
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

"""Results of a run as plain text: after the screen, in logs, in CI."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval import clock
from tui_eval.cli.console.printing import print_json, print_stdout, warn
from tui_eval.cli.console.summary_lines import result_lines
from tui_eval.cli.resume_command import resume_lines, resuming
from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.outcome import failed
from tui_eval.runs.saved_run import read_run
from tui_eval.runs.summary_json import unstarted_object
from tui_eval.text.figures import plural

if TYPE_CHECKING:
    from tui_eval.engine.transport.launcher import EngineProcess

BAR_WIDTH = 20
LINES_SHOWN = 5


def opening_lines(state: RunState) -> Iterator[str]:
    """The run that is about to begin."""
    run = state.run
    if run is None:
        return
    if run.total_known:
        total = run.num_examples * run.rollouts_per_example
        yield (
            f"Dataset: {run.num_examples} examples, {run.rollouts_per_example} rollouts per "
            f"example = {total} total rollouts"
        )
    else:
        found = plural(state.finished, "rollout")
        examples, most = plural(run.num_examples, "example"), run.rollouts_per_example
        yield f"Dataset: {found} of {examples}, at most {most} of each"
    yield f"Model: {run.model}"


def progress_line(finished: int, total: int) -> str:
    """A bar and the count."""
    share = finished / total if total else 1.0
    full = int(share * BAR_WIDTH)
    bar = "█" * full + "░" * (BAR_WIDTH - full)
    return f"Progress: {bar} {finished}/{total} ({share:.0%})"


def gives_way(state: RunState) -> str:
    """A lowered concurrency as the end of a progress line; empty without one."""
    limit, most = state.concurrency_limits
    of = f" of {most}" if most else ""
    held = f", max_concurrent {limit}{of}" if limit != most else ""
    refused = state.refused_requests or 0
    return f"{held}, {plural(refused, 'request')} refused" if refused else held


def running_lines(state: RunState, pid: int) -> Iterator[str]:
    """The process that works on the run, and how to join it."""
    if state.run is not None:
        yield ""
        yield f"Running in process {pid}: {state.finished} of {state.total} rollouts are done."
        yield f"Join it: tui-eval open {shlex.quote(state.run.path)}"


def ending_lines(state: RunState) -> Iterator[str]:
    """The run's place and the next commands."""
    run, end = state.run, state.end
    if run is None:
        return
    path = shlex.quote(run.path)
    yield ""
    if end is not None and end.status == "failed":
        yield f"Failed: {end.text}"
    elif end is not None and end.status == OUT_OF_BUDGET:
        yield f"Stopped: {end.text}. {state.finished} of {state.total} rollouts are done."
    elif end is not None and end.status == STOPPED_EARLY:
        yield f"Stopped early: {end.text}."
    elif end is not None and end.status == "interrupted":
        why = f" Why: {end.text}." if end.text else ""
        yield f"Interrupted: {state.finished} of {state.total} rollouts are done.{why}"
    if end is not None and end.status != "finished":
        yield from resume_lines(RunDir(Path(run.path)), end.status)
    if run.saved:
        yield f"Results saved to: {run.path}"
    else:
        yield f"Unsaved, kept 14 days: {run.path}"
        yield f"Save it: tui-eval save {path}"


def print_damage(state: RunState) -> None:
    """Prints on stderr the lines of a run that are no rows, and its contradictions."""
    print_unreadable(state)
    for text in state.end.contradictions if state.end is not None else ():
        warn(f"warning: {text}")


def print_unreadable(state: RunState) -> None:
    """Prints on stderr the lines of a run that are no rows."""
    against = state.end.contradictions if state.end is not None else []
    reported = [text for level, text in state.notices if level == "warning" and text not in against]
    for text in reported[:LINES_SHOWN]:
        warn(f"warning: {text}")
    unseen = max(state.unreadable_lines - len(state.unreadable), 0)
    more = len(reported[LINES_SHOWN:]) + unseen
    if more > 0 and state.run is not None:
        where = f"see the log (4) of tui-eval open {shlex.quote(state.run.path)}"
        warn(f"warning: {plural(more, 'more line')} like that: {where}")


def report_run(
    run: RunDir,
    seen: RunState | None = None,
    read: tuple[RunState, int] | None = None,
    **how: Any,
) -> int:
    """Prints the results of a run on disk; returns its exit code.

    Args:
        seen: Its state as a listener last had it.
        read: Result of `read_run`, where it was read already.
        how: Options of `result_lines`.
    """
    if seen is not None and not run.path.exists():
        warn(f"{run.path} is not there any more: somebody moved or removed the run")
        print_stdout([*opening_lines(seen), *result_lines(seen, **how)])
        return seen.end.exit_code if seen.end else 1
    state, pid = read or read_run(run)
    print_damage(state)
    if not state.expected and not state.unreadable_lines:
        warn(f"warning: {run.results} is empty: nothing was saved to it yet")
    if pid:
        print_stdout(
            [*opening_lines(state), *result_lines(state, **how), *running_lines(state, pid)]
        )
        return 0
    if seen is not None:
        state.last_cause = seen.last_cause
    if seen is not None and seen.end is not None and seen.end.status == "failed":
        state.end = seen.end
        warn(f"error: {seen.end.text}")
    print_stdout([*opening_lines(state), *result_lines(state, **how), *ending_lines(state)])
    return state.end.exit_code if state.end else 0


def report_held(engine: EngineProcess, state: RunState, *, as_json: bool = False) -> int:
    """Prints that an engine does not end, why, and how to resume; returns the exit code.

    All of that is known from its events, and none of its files is opened: who reads them waits
    as the engine does.

    Args:
        engine: One that `is_held`.
    """
    end = state.end or failed(clock.now(), "")
    why = end.text or _what_is_lost(state)
    if why:
        warn(f"error: {why}")
    whose = f" of {state.run.path}" if state.run is not None else ""
    held = f"The engine, process {engine.pid}, does not end: it waits for the disk{whose}"
    warn(f"{held}. It is killed, and ends once that answers. Rows that were written stay.")
    if state.run is not None:
        warn(f"Resume then: {resuming(state.run.env_id, RunDir(Path(state.run.path)))}")
    if as_json:
        text = "; ".join(filter(None, (why, held)))
        print_json(unstarted_object(end.status, end.exit_code, text))
    return end.exit_code


def _what_is_lost(state: RunState) -> str:
    """A sentence on rows that the disk did not take, of a run that ended without one."""
    refusal = state.refusal
    if refusal is None:
        return ""
    what = f"{plural(refusal.rows, 'row')} and {plural(refusal.records, 'answer')}"
    why = f"{refusal.path} cannot be written, {refusal.why}"
    return f"{why}; {what} in memory may be lost, a resume takes in what was put elsewhere"

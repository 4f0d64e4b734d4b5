"""What a run came to, as plain text: after the screen, in logs, in CI."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from tui_eval.errors import Fault
from tui_eval.fold.run_state import RunState
from tui_eval.printable import printable
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder
from tui_eval.runs.opening import saved_events
from tui_eval.stats.mean import Mean

BAR_WIDTH = 20


def show(lines: Iterable[str]) -> None:
    """Prints lines on stdout."""
    _print(sys.stdout, lines)


def complain(text: str) -> None:
    """Prints a line on stderr."""
    _print(sys.stderr, [text])


def _print(stream: TextIO, lines: Iterable[str]) -> None:
    """Prints lines; where nobody takes them (`| head`, a full disk) the run goes on without."""
    try:
        for line in lines:
            print(printable(line), file=stream)
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show_faults(faults: Iterable[Fault]) -> int:
    """Prints why a request was refused; returns the exit code of a refusal."""
    for fault in faults:
        complain(f"error: {fault}")
    return 2


def show_path(run: RunDir) -> None:
    """Prints where a run is."""
    show([f"Results saved to: {run.path}"])


def opening_lines(state: RunState) -> Iterator[str]:
    """What is about to run."""
    run = state.run
    if run is None:
        return
    total = run.num_examples * run.rollouts_per_example
    yield (
        f"Dataset: {run.num_examples} examples, {run.rollouts_per_example} rollouts per example "
        f"= {total} total rollouts"
    )
    yield f"Model: {run.model}"


def progress_line(finished: int, total: int) -> str:
    """A bar and the count."""
    share = finished / total if total else 1.0
    full = int(share * BAR_WIDTH)
    bar = "█" * full + "░" * (BAR_WIDTH - full)
    return f"Progress: {bar} {finished}/{total} ({share:.0%})"


def result_lines(state: RunState) -> Iterator[str]:
    """Reward and metrics as mean ± standard deviation, how sure they are, what went wrong."""
    reward = state.reward_mean.result()
    yield ""
    yield "Results:"
    yield f"  Reward: {_mean_std(reward, 2)}"
    for name, metric in state.metrics.items():
        mean = metric.result()
        yield f"  {name}: {_mean_std(mean, 2 if abs(mean.mean or 0.0) < 1 else 1)}"
    yield ""
    if reward.low is not None and reward.high is not None:
        how = "clustered by example" if reward.method == "clustered" else "Wilson"
        yield f"Reward, 95% interval: {reward.low:.2f} to {reward.high:.2f} ({how})"
    rates = state.pass_rates.result(state.total // state.per_example)
    if rates:
        yield "pass@k: " + ", ".join(f"{rate.k}={rate.any_passes:.2f}" for rate in rates)
        yield "pass^k: " + ", ".join(f"{rate.k}={rate.all_pass:.2f}" for rate in rates)
    counts = f"Rollouts: {state.reward_mean.n} used, {state.errored} errored"
    missing = state.total - state.finished
    yield counts + (f", {missing} not done" if missing else "")
    for name, count in state.error_counts.most_common():
        yield f"  {name}: {count}"
    if state.tokens_in or state.tokens_out:
        yield f"Tokens: {state.tokens_in:,} in, {state.tokens_out:,} out"


def _mean_std(mean: Mean, digits: int) -> str:
    if mean.mean is None or mean.std is None:
        return "–"
    return f"{mean.mean:.{digits}f} ± {mean.std:.{digits}f}"


def running_lines(state: RunState, pid: int) -> Iterator[str]:
    """Which process is at work on the run, and how to join it."""
    if state.run is not None:
        yield ""
        yield f"Running in process {pid}: {state.finished} of {state.total} rollouts are done."
        yield f"Join it: tui-eval open {shlex.quote(state.run.path)}"


def ending_lines(state: RunState) -> Iterator[str]:
    """Where the run is and what to type next."""
    run, end = state.run, state.end
    if run is None:
        return
    path = shlex.quote(run.path)
    yield ""
    if end is not None and end.status == "failed":
        yield f"Failed: {end.text}"
    elif end is not None and end.status == "interrupted":
        yield f"Interrupted: {state.finished} of {state.total} rollouts are done."
    if end is not None and end.status != "finished" and RunDir(Path(run.path)).plan.exists():
        yield f"Go on: tui-eval run --resume {path}"
    if run.saved:
        yield f"Results saved to: {run.path}"
    else:
        yield f"Unsaved, kept 14 days: {run.path}"
        yield f"Save it: tui-eval save {path}"


def report_run(run: RunDir, seen: RunState | None = None) -> int:
    """Prints what a run on disk came to; returns its exit code.

    Args:
        seen: What a listener saw of it until it left.
    """
    if seen is not None and not run.path.exists():
        complain(f"{run.path} is not there any more: somebody moved or removed the run")
        show([*opening_lines(seen), *result_lines(seen)])
        return seen.end.exit_code if seen.end else 1
    held = holder(run.lock)
    state = RunState()
    for event in saved_events(run):
        state.apply(event)
    if held is not None:
        show([*opening_lines(state), *result_lines(state), *running_lines(state, held.pid)])
        return 0
    if seen is not None and seen.end is not None and seen.end.status == "failed":
        state.end = seen.end
        complain(f"error: {seen.end.text}")
    show([*opening_lines(state), *result_lines(state), *ending_lines(state)])
    return state.end.exit_code if state.end else 0

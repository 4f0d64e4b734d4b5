"""The way out of the app: its engine ends or runs on detached, and the disk is reported."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval import clock
from tui_eval.cli.signals import interrupt_on_signals

if TYPE_CHECKING:
    from tui_eval.engine.transport.launcher import EngineProcess
    from tui_eval.feeds.live_feed import LiveFeed
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.suite_state import SuiteState
    from tui_eval.runs.layout import RunDir
    from tui_eval.tui.app import TuiEvalApp
    from tui_eval.tui.base.dialogs.prompts import Leave


def leave_app(
    app: TuiEvalApp,
    leave: Leave | None,
    at_end: Callable[[RunDir], None] = lambda run: None,
    *,
    abbreviated: bool = False,
    is_refusal_shown: bool = False,
) -> int | None:
    """Ends an engine that the app started, and reports; None where it started none.

    Args:
        at_end: Called with the run, also with a detached one.
        abbreviated: The summary is without settings and examples.
        is_refusal_shown: The caller reports refusals of an engine.
    """
    from tui_eval.feeds.lazy_feed import LazyFeed

    feed = app.feed
    if not isinstance(feed, LazyFeed) or feed.request is None:
        return None
    action, save = (leave.action, leave.save) if leave is not None else ("stop", False)
    engine = feed.inner.engine if feed.inner is not None else None
    if is_refusal_shown and app.state.refused:
        return 2 if feed.inner is None or engine is None else _end(feed.inner, engine, app.state)
    if app.suite is not None and not app.state.refused:
        if action == "detach" and engine is not None:
            from tui_eval.cli.console.suite_lines import show_at_work

            show_at_work(app.suite, engine.pid)
            return 0
        code = _end(feed.inner, engine, app.state) if feed.inner and engine else None
        if engine is not None and engine.is_held:
            from tui_eval.cli.console.report import report_held

            return report_held(engine, app.state)
        return leave_suite(app.suite, code, save, abbreviated=abbreviated)
    return _leave_run(feed.inner, app.state, action, save, abbreviated, at_end)


def report_again(
    app: TuiEvalApp,
    leave: Leave | None,
    at_end: Callable[[RunDir], None],
    *,
    abbreviated: bool,
) -> int:
    """Reports the runs of an engine of the app that no other one resumed."""
    save = leave is not None and leave.save
    if app.suite is not None:
        return leave_suite(app.suite, None, save, abbreviated=abbreviated)
    return _leave_run(None, app.state, "closed", save, abbreviated, at_end)


def _leave_run(
    feed: LiveFeed | None,
    state: RunState,
    action: str,
    save: bool,
    abbreviated: bool,
    at_end: Callable[[RunDir], None],
) -> int:
    """Ends the engine unless it is detached, then reports from the disk."""
    from tui_eval.cli.console.printing import print_faults, warn
    from tui_eval.cli.console.report import report_held, report_run
    from tui_eval.cli.console.results import report_alone
    from tui_eval.errors import Fault
    from tui_eval.runs.crash_recovery import close_if_crashed
    from tui_eval.runs.layout import RunDir
    from tui_eval.runs.outcome import interrupted

    interrupt_on_signals()
    engine = feed.engine if feed is not None else None
    if action == "detach" and engine is not None and state.run is not None:
        run = RunDir(Path(state.run.path))
        _print_at_work(run, state, engine.pid)
        at_end(run)
        return 0
    if feed is not None and engine is not None:
        _end(feed, engine, state)
        if engine.is_held:
            return report_held(engine, state)
        if state.run is None and feed.runs:  # the screen had not folded what was received
            return max(map(report_run, feed.runs))
    if state.refused:
        return print_faults(Fault(*fault) for fault in state.refused)
    if state.run is None:
        for _, notice in state.notices:
            warn(notice)
        return report_alone(state, state.end or interrupted(clock.now()))
    run = RunDir(Path(state.run.path))
    close_if_crashed(run)
    run = kept(run) if save else run
    code = _report(run, state, abbreviated=abbreviated)
    at_end(run)
    return code


def _print_at_work(run: RunDir, state: RunState, pid: int) -> None:
    from tui_eval.cli.console.printing import print_stdout, warn
    from tui_eval.cli.console.report import running_lines
    from tui_eval.cli.pushing import dataset_of

    print_stdout(running_lines(state, pid))
    if dataset_of(run) is not None:
        warn(f"Push it once it is finished: tui-eval push {shlex.quote(str(run.path))}")


def leave_suite(
    suite: SuiteState,
    code: int | None,
    save: bool,
    *,
    abbreviated: bool = False,
    pushes: bool = True,
) -> int:
    """Reports a suite that nobody works on any more, from the disk.

    Args:
        code: The exit code of its engine, where that is known.
        save: Unsaved evaluations are saved for good.
        abbreviated: The summary is without settings and examples.
        pushes: Runs are pushed where that was requested; its engine was started here.
    """
    from tui_eval.cli.console.printing import warn
    from tui_eval.cli.console.results import report_several
    from tui_eval.runs.layout import RunDir, is_unsaved
    from tui_eval.runs.outcome import lost_suite_outcome

    if suite.end is None:
        suite.end = lost_suite_outcome(clock.now(), code)
    for _, notice in suite.notices:
        warn(notice)
    for one in suite.evaluations:
        run = RunDir(Path(one.last.path))
        if save and one.last.path and is_unsaved(run):
            one.last.path = str(kept(run).path)
    return report_several(suite, abbreviated=abbreviated, pushes=pushes)


def _end(feed: LiveFeed, engine: EngineProcess, state: RunState) -> int:
    """Ends the engine and returns its exit code; called again meanwhile it ends it at once."""
    try:
        from tui_eval.cli.console.printing import warn
        from tui_eval.engine.transport.launcher import STOPS_WITHIN_S, STOPS_WITHOUT_DISK_S

        if engine.exit_code() is None:
            warn("Stopping; finished rollouts are kept.")
        engine.stop(STOPS_WITHIN_S if state.refusal is None else STOPS_WITHOUT_DISK_S)
        code = engine.wait()
        engine.clean_up()
        feed.close_runs()
        return code
    except KeyboardInterrupt:
        return end_at_once(feed, engine)


def end_at_once(feed: LiveFeed, engine: EngineProcess) -> int:
    """Kills the engine, closes its runs for it, and returns its exit code."""
    engine.kill()
    code = engine.wait()
    engine.clean_up()
    feed.close_runs()
    return code


def _report(run: RunDir, state: RunState, *, abbreviated: bool) -> int:
    from tui_eval.cli.console.report import report_run
    from tui_eval.cli.pushing import code_with_pushes, dataset_of, push_requested
    from tui_eval.runs.opening import read_run

    code = report_run(run, state, abbreviated=abbreviated)
    if dataset_of(run) is not None:
        end = read_run(run)[0].end
        pushes = push_requested({0: (run, end.status if end else "running")})
        code = code_with_pushes(code, pushes.values())
    return code


def kept(run: RunDir) -> RunDir:
    """Saves a run for good and returns it; the run as it was where that is refused."""
    from tui_eval.cli.console.printing import print_faults
    from tui_eval.errors import RefusedError
    from tui_eval.runs.unsaved import keep

    try:
        return keep(run)
    except RefusedError as error:
        print_faults(error.faults)
        return run


def wait_while(is_at_work: Callable[[], bool]) -> None:
    """Waits for a stopping engine, at most as long as it may take."""
    from tui_eval.engine.transport.launcher import STOPS_WITHIN_S

    deadline = time.monotonic() + STOPS_WITHIN_S
    while is_at_work() and time.monotonic() < deadline:
        time.sleep(0.02)

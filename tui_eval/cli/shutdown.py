"""The way out of the app: its engine ends or runs on detached, and the disk is reported."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval import clock

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
    from tui_eval.feeds.live_feed import LiveFeed

    feed, state, code = app.feed, app.state, None
    if not isinstance(feed, LiveFeed) or feed.launch is None:
        return None
    engine = feed.engine
    has_begun = state.run is not None or (app.suite is not None and not state.refused)
    if leave is not None and leave.action == "detach" and engine is not None and has_begun:
        _print_at_work(app, engine.pid, at_end)
        return 0
    if engine is not None:
        code = _end(feed, engine, state)
    if is_refusal_shown and state.refused:
        return 2 if code is None else code
    if engine is not None and engine.is_held:
        from tui_eval.cli.console.report import report_held

        return report_held(engine, state)
    return report_left(app, leave, code, at_end, abbreviated=abbreviated)


def report_left(
    app: TuiEvalApp,
    leave: Leave | None,
    code: int | None = None,
    at_end: Callable[[RunDir], None] = lambda run: None,
    *,
    abbreviated: bool = False,
    pushes: bool = True,
) -> int:
    """Reports from the disk what nobody works on any more; returns the exit code.

    Args:
        leave: Whether unsaved runs are saved for good.
        code: The exit code of the engine, where that is known.
        at_end, abbreviated: See `leave_app`.
        pushes: Runs are pushed where that was requested; their engine was started here.
    """
    from tui_eval.cli.console.printing import print_faults
    from tui_eval.errors import Fault
    from tui_eval.runs.crash_recovery import close_if_crashed
    from tui_eval.runs.layout import RunDir

    state, save = app.state, leave is not None and leave.save
    if state.refused:
        return print_faults(Fault(*fault) for fault in state.refused)
    if app.suite is not None:
        return _report_suite(app.suite, code, save=save, abbreviated=abbreviated, pushes=pushes)
    if state.run is None:
        return _report_unseen(app)
    run = RunDir(Path(state.run.path))
    close_if_crashed(run)
    run = kept(run) if save else run
    code = _report(run, state, abbreviated=abbreviated)
    at_end(run)
    return code


def _report_unseen(app: TuiEvalApp) -> int:
    """Reports what began after the screen had looked for the last time, or nothing that began."""
    from tui_eval.cli.console.printing import warn
    from tui_eval.cli.console.report import report_run
    from tui_eval.cli.console.results import report_alone
    from tui_eval.feeds.live_feed import LiveFeed

    feed = app.feed
    if isinstance(feed, LiveFeed) and feed.engine is not None and feed.runs:
        return max(map(report_run, feed.runs))
    for _, notice in app.state.notices:
        warn(notice)
    return report_alone(app.state)


def _print_at_work(app: TuiEvalApp, pid: int, at_end: Callable[[RunDir], None]) -> None:
    from tui_eval.cli.console.printing import print_stdout, warn
    from tui_eval.cli.console.report import running_lines
    from tui_eval.cli.console.suite_lines import show_at_work
    from tui_eval.cli.push_processes import dataset_of
    from tui_eval.runs.layout import RunDir

    if app.suite is not None:
        show_at_work(app.suite, pid)
    elif app.state.run is not None:
        run = RunDir(Path(app.state.run.path))
        print_stdout(running_lines(app.state, pid))
        if dataset_of(run) is not None:
            warn(f"Push it once it is finished: tui-eval push {shlex.quote(str(run.path))}")
        at_end(run)


def _report_suite(
    suite: SuiteState, code: int | None, *, save: bool, abbreviated: bool, pushes: bool
) -> int:
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
    from tui_eval.cli.push_processes import code_with_pushes, dataset_of, push_requested
    from tui_eval.runs.saved_run import read_run

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

"""The full-screen listener: opens the app on a feed and reports when it is left."""

from __future__ import annotations

import functools
import gc
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tui_eval.cli.interrupting import interrupt_on_signals

if TYPE_CHECKING:
    from tui_eval.config.draft import Draft
    from tui_eval.engine.seam.launcher import EngineProcess
    from tui_eval.engine.seam.live_feed import LiveFeed
    from tui_eval.engine.suites.own_runs import Planned
    from tui_eval.fold.feed import Feed
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.suite_state import SuiteState
    from tui_eval.runs.layout import RunDir
    from tui_eval.runs.lock import Holder
    from tui_eval.tui.app import TuiEvalApp
    from tui_eval.tui.leaving import Leave

Result = TypeVar("Result")


def has_terminal() -> bool:
    """Whether there is a terminal to draw on and to read keys from, or a browser's."""
    from tui_eval.tui.terminal.browser import in_browser

    return (sys.stdin.isatty() and sys.stdout.isatty()) or in_browser()


def run_on_screen(
    request: Mapping[str, Any], at_end: Callable[[RunDir], None] = lambda run: None
) -> int:
    """Runs a request on the screen; returns the exit code of the run.

    Args:
        at_end: Called with the run when the screen is left, also where it goes on detached.
    """
    from tui_eval.cli.lazy_feed import LazyFeed

    return _watch(_app(LazyFeed(request)), at_end)


def _watch(
    app: TuiEvalApp,
    at_end: Callable[[RunDir], None] = lambda run: None,
    *,
    told_elsewhere: bool = False,
) -> int:
    """Shows the app until it is left; returns the exit code of its run.

    Args:
        told_elsewhere: The caller tells what an engine refused.
    """
    from tui_eval.cli.lazy_feed import LazyFeed

    leave, first = None, app.feed
    try:
        leave = app.run()
        code = _left(app, leave, at_end, told_elsewhere=told_elsewhere)
        if code is None and isinstance(first, LazyFeed) and first.request is not None:
            raw = first.request.get("raw") or {}
            return _report_again(app, leave, raw, at_end)
        return code or 0
    except KeyboardInterrupt:
        inner = app.feed.inner if isinstance(app.feed, LazyFeed) else None
        is_detached = leave is not None and leave.action == "detach"
        if not is_detached and inner is not None and inner.engine is not None:
            _end_at_once(inner, inner.engine)
        raise


def _left(
    app: TuiEvalApp,
    leave: Leave | None,
    at_end: Callable[[RunDir], None] = lambda run: None,
    *,
    told_elsewhere: bool = False,
) -> int | None:
    """Ends an engine that the app started, and reports; None where it started none."""
    from tui_eval.cli.lazy_feed import LazyFeed

    feed = app.feed
    if not isinstance(feed, LazyFeed) or feed.request is None:
        return None
    action, save = (leave.action, leave.save) if leave is not None else ("stop", False)
    raw = feed.request.get("raw") or {}
    engine = feed.inner.engine if feed.inner is not None else None
    if told_elsewhere and app.state.refused:
        return 2 if feed.inner is None or engine is None else _end(feed.inner, engine)
    if app.suite is not None and not app.state.refused:
        if action == "detach" and engine is not None:
            return _detach_suite(app.suite, engine.pid)
        code = _end(feed.inner, engine) if feed.inner and engine else None
        return _leave_suite(app.suite, code, save, raw)
    return _leave(feed.inner, app.state, action, save, raw, at_end)


def _report_again(
    app: TuiEvalApp,
    leave: Leave | None,
    raw: Mapping[str, Any],
    at_end: Callable[[RunDir], None],
) -> int:
    """Reports what an engine of the app worked on and another one did not go on with."""
    save = leave is not None and leave.save
    if app.suite is not None:
        return _leave_suite(app.suite, None, save, raw)
    return _leave(None, app.state, "closed", save, raw, at_end)


def configure_on_screen(draft: Draft) -> int:
    """Shows a form, then the run that it asks for; returns the exit code of the run.

    A request that an engine refuses comes back to the form, with what is wrong.
    """
    from tui_eval.cli.desk import EngineDesk
    from tui_eval.cli.lazy_feed import LazyFeed
    from tui_eval.errors import Fault

    refused: list[Fault] = []
    while True:
        gc.disable()
        from tui_eval.tui.screens.configure import ConfigureScreen

        feed = LazyFeed()
        form = ConfigureScreen(EngineDesk(), draft, time.time, refused)
        app = _app(feed, form=form, begin=functools.partial(setattr, feed, "request"))
        code = _watch(app, told_elsewhere=True)
        if not app.state.refused:
            return code
        draft, refused = form.draft, [Fault(*fault) for fault in app.state.refused]


def home_on_screen(paths: Sequence[Path]) -> int:
    """Shows the home screen; returns the exit code of a run that was stopped by quitting, else 0.

    Args:
        paths: Where to look for runs besides the usual folders.
    """
    gc.disable()
    from tui_eval.cli.home_desk import FilesAndEngines, comparison_of, form_for
    from tui_eval.tui.home_app import HomeApp
    from tui_eval.tui.preferences import Preferences

    desk = FilesAndEngines(paths)
    return _watch(
        HomeApp(
            desk,
            open_feed=_open_feed,
            compare=comparison_of,
            configure=form_for,
            start=desk.start,
            preferences=Preferences.read(),
        )
    )


def _app(feed: Feed, **options: Any) -> TuiEvalApp:
    """The app on a feed. The garbage collector stands still until its first frame is drawn."""
    gc.disable()
    from tui_eval.tui.app import TuiEvalApp
    from tui_eval.tui.preferences import Preferences

    return TuiEvalApp(
        feed,
        open_feed=_open_feed,
        start=_start_feed,
        preferences=Preferences.read(),
        **options,
    )


def _start_feed(request: Mapping[str, Any]) -> Feed:
    """The feed of an engine that is started on a request (see `config.plan.Request`)."""
    from tui_eval.cli.lazy_feed import LazyFeed

    return LazyFeed(request)


def _open_feed(path: str, socket: str) -> Feed:
    """The feed of one evaluation of a suite: joined while an engine is at work on it."""
    from tui_eval.engine.seam.live_feed import LiveFeed
    from tui_eval.runs.layout import RunDir
    from tui_eval.runs.saved_feed import SavedFeed

    return LiveFeed(socket_path=socket) if socket else SavedFeed(RunDir(Path(path)))


def _leave(
    feed: LiveFeed | None,
    state: RunState,
    action: str,
    save: bool,
    raw: Mapping[str, Any],
    at_end: Callable[[RunDir], None],
) -> int:
    """Ends the engine unless it goes on detached, then reports from the disk."""
    from tui_eval.cli.pushing import dataset_of
    from tui_eval.cli.report import complain, report_run, running_lines, show, show_faults
    from tui_eval.errors import Fault
    from tui_eval.events import RunFinished
    from tui_eval.runs.dead import close_for_the_dead
    from tui_eval.runs.layout import RunDir

    interrupt_on_signals()
    engine = feed.engine if feed is not None else None
    if action == "detach" and engine is not None and state.run is not None:
        show(running_lines(state, engine.pid))
        run = RunDir(Path(state.run.path))
        if dataset_of(run) is not None:
            complain(f"Push it once it is finished: tui-eval push {shlex.quote(state.run.path)}")
        at_end(run)
        return 0
    if feed is not None and engine is not None:
        _end(feed, engine)
        if state.run is None and feed.runs:  # the screen had not come to what it was told
            return max(map(report_run, feed.runs))
    if state.refused:
        return show_faults(Fault(*fault) for fault in state.refused)
    if state.run is None:
        text = state.end.text if state.end else ""
        for _, notice in state.notices:
            complain(notice)
        complain(f"error: {text}" if text else "Stopped before the run began.")
        return state.end.exit_code if state.end else 130
    run = RunDir(Path(state.run.path))
    if run.lock.exists():
        close_for_the_dead(run, RunFinished(0, time.time(), "interrupted", 130))
    run = _kept(run) if save else run
    code = _report(run, state, raw)
    at_end(run)
    return code


def _detach_suite(suite: SuiteState, pid: int) -> int:
    from tui_eval.cli.suite_telling import show_at_work

    show_at_work(suite, pid)
    return 0


def _leave_suite(
    suite: SuiteState, code: int | None, save: bool, raw: Mapping[str, Any] | None
) -> int:
    """Reports from the disk what became of a suite that nobody works on any more.

    Args:
        code: The exit code of its engine, where that is known.
        raw: What was typed when it began; None where it was joined.
    """
    from tui_eval.cli.report import complain
    from tui_eval.cli.suite_telling import SuiteTelling
    from tui_eval.events import RunFinished
    from tui_eval.runs.layout import RunDir, is_unsaved

    if suite.end is None:
        suite.end = RunFinished(0, time.time(), "interrupted", code if code and code > 0 else 130)
    for _, notice in suite.notices:
        complain(notice)
    for one in suite.evaluations:
        run = RunDir(Path(one.last.path))
        if save and one.last.path and is_unsaved(run):
            one.last.path = str(_kept(run).path)
    abbreviated = bool((raw or {}).get("abbreviated_summary"))
    return SuiteTelling(suite).sum_up(abbreviated=abbreviated, pushes=raw is not None)


def _end(feed: LiveFeed, engine: EngineProcess) -> int:
    """Ends the engine and tells its exit code; asked again meanwhile it ends it at once."""
    try:
        from tui_eval.cli.report import complain

        if engine.exit_code() is None:
            complain("Stopping; finished rollouts are kept.")
        engine.stop()
        code = engine.wait()
        engine.clean_up()
        feed.close_runs()
        return code
    except KeyboardInterrupt:
        return _end_at_once(feed, engine)


def _end_at_once(feed: LiveFeed, engine: EngineProcess) -> int:
    engine.kill()
    code = engine.wait()
    engine.clean_up()
    feed.close_runs()
    return code


def _report(run: RunDir, state: RunState, raw: Mapping[str, Any]) -> int:
    from tui_eval.cli.pushing import dataset_of, push_as_asked
    from tui_eval.cli.report import read_run, report_run

    code = report_run(run, state, abbreviated=bool(raw.get("abbreviated_summary")))
    if dataset_of(run) is not None:
        end = read_run(run)[0].end
        push_as_asked({0: (run, end.status if end else "running")})
    return code


def _kept(run: RunDir) -> RunDir:
    from tui_eval.cli.report import show_faults
    from tui_eval.errors import RefusedError
    from tui_eval.runs.unsaved import keep

    try:
        return keep(run)
    except RefusedError as error:
        show_faults(error.faults)
        return run


def open_on_screen(run: RunDir) -> int:
    """Shows a saved run, or joins the engine that runs it.

    Returns:
        0, or the exit code of the run where it went on from there.
    """
    from tui_eval.engine.seam.joined_feed import feed_of
    from tui_eval.runs.lock import holder

    feed = feed_of(run)
    app = _app(feed, joined=holder(run.lock) is not None)
    leave = app.run()
    if app.feed is not feed and (code := _left(app, leave)) is not None:
        return code  # errored rollouts ran again
    from tui_eval.cli.report import complain, report_run

    if app.state.run is None and app.state.end is not None:
        complain(f"error: {app.state.end.text}")
    if leave is not None and leave.action == "stop":
        _wait_while(lambda: holder(run.lock) is not None)
    report_run(_kept(run) if leave and leave.save else run)
    return 0


def open_suite_on_screen(file: Path, held: Holder) -> int:
    """Joins the engine that works on the evaluations of a file.

    Returns:
        0, 1 if the engine is gone, or the exit code of the evaluations where they went on.
    """
    from tui_eval.engine.seam.live_feed import LiveFeed
    from tui_eval.engine.suites.at_work import at_work_on

    feed = LiveFeed(socket_path=held.socket)
    app = _app(feed, joined=True)
    leave = app.run()
    if app.feed is not feed and (code := _left(app, leave)) is not None:
        return code  # it went on from there
    if app.suite is None:
        from tui_eval.cli.report import complain

        complain(f"error: {app.state.end.text if app.state.end else 'the engine has ended'}")
        return 1
    if leave is not None and leave.action == "detach":
        return _detach_suite(app.suite, held.pid)
    _wait_while(lambda: at_work_on(file) == held)
    _leave_suite(app.suite, None, leave is not None and leave.save, None)
    return 0


def look_at_suite_on_screen(file: Path, evaluations: list[Planned]) -> int:
    """Shows the evaluations of a file that nobody works on.

    Returns:
        0, or the exit code of the evaluations where they went on from there.
    """
    from tui_eval.cli.saved_suite import SavedSuite

    feed = SavedSuite(file, evaluations)
    app = _app(feed)
    leave = app.run()
    if app.feed is not feed and (code := _left(app, leave)) is not None:
        return code
    if app.suite is not None and app.suite.end is not None:
        _leave_suite(app.suite, None, leave is not None and leave.save, None)
    return 0


def compare_on_screen(paths: Sequence[Path], only: str | None) -> int:
    """Shows runs beside each other; returns 0.

    Args:
        only: Which examples are shown at first.
    """
    from tui_eval.tui.preferences import Preferences
    from tui_eval.tui.screen_app import ScreenApp
    from tui_eval.tui.screens.compare import CompareRuns

    ScreenApp(CompareRuns(paths, only=only or ""), Preferences.read()).run()
    return 0


def _wait_while(is_at_work: Callable[[], bool]) -> None:
    """Waits for an engine that was told to stop, as long as it may take."""
    from tui_eval.engine.seam.launcher import STOPS_WITHIN_S

    deadline = time.monotonic() + STOPS_WITHIN_S
    while is_at_work() and time.monotonic() < deadline:
        time.sleep(0.02)

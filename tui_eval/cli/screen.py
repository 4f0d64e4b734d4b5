"""The full-screen listener: opens the app on a feed."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.cli.shutdown import end_at_once, kept, leave_app, report_left, wait_while
from tui_eval.tui.base.terminal.starting import show_starting

if TYPE_CHECKING:
    from tui_eval.config.draft import Draft
    from tui_eval.engine.setup.resume_match import PlannedEvaluation
    from tui_eval.engine.transport.launcher import Launch
    from tui_eval.errors import Fault
    from tui_eval.feeds.feed import Feed
    from tui_eval.runs.layout import RunDir
    from tui_eval.runs.lock import Holder
    from tui_eval.tui.app import TuiEvalApp
    from tui_eval.tui.form.screen import ConfigureScreen


def has_terminal() -> bool:
    """Whether there is a terminal to draw on and to read keys from, or a browser's.

    One that calls itself dumb, as Emacs' shell does, shows lines only.
    """
    from tui_eval.tui.base.terminal.browser import in_browser

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return (is_terminal and os.environ.get("TERM") != "dumb") or in_browser()


def run_on_screen(launch: Launch, at_end: Callable[[RunDir], None] = lambda run: None) -> int:
    """Runs an engine on the screen; returns the exit code of the run.

    Args:
        at_end: Called with the run when the screen is left, also of a detached one.
    """
    from tui_eval.feeds.live_feed import LiveFeed

    return _watch(_app(LiveFeed(launch)), at_end)


def _watch(
    app: TuiEvalApp,
    at_end: Callable[[RunDir], None] = lambda run: None,
    *,
    is_refusal_shown: bool = False,
) -> int:
    """Shows the app until it is left; returns the exit code of its run.

    Args:
        is_refusal_shown: The caller reports refusals of an engine.
    """
    from tui_eval.feeds.live_feed import LiveFeed

    leave, first = None, app.feed
    try:
        leave = app.run()
        launch = first.launch if isinstance(first, LiveFeed) else None
        abbreviated = bool(launch and (launch.request.get("raw") or {}).get("abbreviated_summary"))
        code = leave_app(
            app, leave, at_end, abbreviated=abbreviated, is_refusal_shown=is_refusal_shown
        )
        if code is None and launch is not None:
            return report_left(app, leave, None, at_end, abbreviated=abbreviated)
        return code or 0
    except KeyboardInterrupt:
        feed = app.feed
        is_detached = leave is not None and leave.action == "detach"
        if not is_detached and isinstance(feed, LiveFeed) and feed.engine is not None:
            end_at_once(feed, feed.engine)
        raise


def configure_on_screen(draft: Draft) -> int:
    """Shows a form, then its run; returns the exit code of the run.

    A request that an engine refuses comes back to the form, with what is wrong.
    """
    from tui_eval.engine.transport.launcher import Launch
    from tui_eval.errors import Fault
    from tui_eval.feeds.live_feed import LiveFeed

    refused: list[Fault] = []
    while True:
        gc.disable()
        feed, form = LiveFeed(), _form(draft, refused)
        app = _app(feed, form=form, begin=lambda one, to=feed: setattr(to, "launch", Launch(one)))
        code = _watch(app, is_refusal_shown=True)
        if not app.state.refused:
            return code
        draft, refused = form.draft, [Fault(*fault) for fault in app.state.refused]


def home_on_screen(paths: Sequence[Path]) -> int:
    """Shows the home screen; returns the exit code of a run that was stopped by quitting, else 0.

    Args:
        paths: Folders with runs besides the usual ones.
    """
    show_starting()
    gc.disable()
    from tui_eval.tui.base.preferences import Preferences
    from tui_eval.tui.home.backend import HomeBackend
    from tui_eval.tui.home_app import HomeApp

    return _watch(
        HomeApp(
            HomeBackend(paths),
            open_feed=_open_feed,
            preferences=Preferences.read(),
        )
    )


def _form(draft: Draft, refused: Sequence[Fault]) -> ConfigureScreen:
    from tui_eval.tui.form.backend import FormBackend
    from tui_eval.tui.form.screen import ConfigureScreen

    return ConfigureScreen(FormBackend(), draft, time.time, list(refused))


def _app(feed: Feed, **options: Any) -> TuiEvalApp:
    """The app on a feed. The garbage collector is off until its first frame is drawn."""
    show_starting()
    gc.disable()
    from tui_eval.engine.transport.launcher import Launch
    from tui_eval.feeds.live_feed import LiveFeed
    from tui_eval.tui.app import TuiEvalApp
    from tui_eval.tui.base.preferences import Preferences

    return TuiEvalApp(
        feed,
        open_feed=_open_feed,
        start=lambda request: LiveFeed(Launch(request)),
        preferences=Preferences.read(),
        **options,
    )


def _open_feed(path: str, socket: str) -> Feed:
    """The feed of one evaluation of a suite: joined while an engine is at work on it."""
    from tui_eval.feeds.live_feed import LiveFeed
    from tui_eval.feeds.saved_feed import SavedFeed
    from tui_eval.runs.layout import RunDir

    return LiveFeed(socket_path=socket) if socket else SavedFeed(RunDir(Path(path)))


def open_on_screen(run: RunDir) -> int:
    """Shows a saved run, or joins the engine that runs it.

    Returns:
        0, or the exit code of the run where it was resumed.
    """
    show_starting()
    from tui_eval.feeds.joined_feed import feed_of
    from tui_eval.runs.lock import holder

    feed = feed_of(run)
    app = _app(feed, joined=holder(run.lock) is not None)
    leave = app.run()
    if app.feed is not feed and (code := leave_app(app, leave)) is not None:
        return code  # errored rollouts ran again
    from tui_eval.cli.console.printing import warn
    from tui_eval.cli.console.report import report_run

    if app.state.run is None and app.state.end is not None:
        warn(f"error: {app.state.end.text}")
    if leave is not None and leave.action == "stop":
        wait_while(lambda: holder(run.lock) is not None)
    report_run(kept(run) if leave and leave.save else run)
    return 0


def open_suite_on_screen(file: Path, held: Holder) -> int:
    """Joins the engine that works on the evaluations of a file.

    Returns:
        0, 1 if the engine is gone, or the exit code of the evaluations where they were resumed.
    """
    from tui_eval.engine.setup.suite_lock import at_work_on
    from tui_eval.feeds.live_feed import LiveFeed

    feed = LiveFeed(socket_path=held.socket)
    app = _app(feed, joined=True)
    leave = app.run()
    if app.feed is not feed and (code := leave_app(app, leave)) is not None:
        return code  # it was resumed
    if app.suite is None:
        from tui_eval.cli.console.printing import warn

        warn(f"error: {app.state.end.text if app.state.end else 'the engine has ended'}")
        return 1
    if leave is not None and leave.action == "detach":
        from tui_eval.cli.console.suite_lines import show_at_work

        show_at_work(app.suite, held.pid)
        return 0
    wait_while(lambda: at_work_on(file) == held)
    report_left(app, leave, pushes=False)
    return 0


def look_at_suite_on_screen(file: Path, evaluations: list[PlannedEvaluation]) -> int:
    """Shows the evaluations of a file that nobody works on.

    Returns:
        0, or the exit code of the evaluations where they were resumed.
    """
    from tui_eval.feeds.saved_suite import SavedSuite

    feed = SavedSuite(file, evaluations)
    app = _app(feed)
    leave = app.run()
    if app.feed is not feed and (code := leave_app(app, leave)) is not None:
        return code
    if app.suite is not None and app.suite.end is not None:
        report_left(app, leave, pushes=False)
    return 0


def compare_on_screen(paths: Sequence[Path], only: str | None) -> int:
    """Shows runs beside each other, at first with `only` such examples; returns 0."""
    show_starting()
    from tui_eval.tui.base.app import ScreenApp
    from tui_eval.tui.base.preferences import Preferences
    from tui_eval.tui.compare.screen import CompareRuns

    ScreenApp(CompareRuns(paths, only=only or ""), Preferences.read()).run()
    return 0

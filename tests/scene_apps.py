"""Apps of the scenes, each on a feed or a backend with a pinned clock."""

from __future__ import annotations

import atexit
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

from compared_runs import QUESTIONS, Stuck
from msgspec.structs import replace
from scripted_faults import ERRORS as FAULTY
from scripted_faults import faulty_feed, limited_feed
from scripted_home import FormBackend, found_run, pin_time_zone, several_runs
from scripted_rows import (
    failed_row,
    judged_row,
    recorded_trajectory,
    saved_rows,
    trajectory,
    unscored_row,
)
from scripted_run import (
    EACH,
    ERRORS,
    NOW,
    SELECTED,
    TOTAL,
    ScriptedFeed,
    all_events,
    judged,
    paused_events,
    refused_events,
    running_events,
    unscored,
)
from scripted_suite import RUNNING, Feeds, PausedFeeds, moved, suite_events
from scripted_trajectory import rich_feed, writing_feed

from tui_eval import events as ev
from tui_eval.config.user_settings import UserSettings
from tui_eval.fold.columns import Note
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.app import ScreenApp
from tui_eval.tui.base.preferences import Preferences
from tui_eval.tui.compare.rollouts_screen import CompareRollouts
from tui_eval.tui.compare.screen import CompareRuns
from tui_eval.tui.home_app import HomeApp
from tui_eval.tui.run.session import RunSession


def app_of(feed: ScriptedFeed) -> TuiEvalApp:
    return TuiEvalApp(feed, now=lambda: NOW)


def live(events: list[ev.Event]) -> Callable[[], TuiEvalApp]:
    return lambda: app_of(ScriptedFeed(events, saved_rows(), trajectories={SELECTED: trajectory()}))


def unblinking() -> TuiEvalApp:
    feed = ScriptedFeed(running_events(), saved_rows(), trajectories={SELECTED: trajectory()})
    still = Preferences(UserSettings(motion="reduced"))
    return TuiEvalApp(feed, now=lambda: NOW, preferences=still)


def paused() -> TuiEvalApp:
    return app_of(
        ScriptedFeed(paused_events(), saved_rows(), trajectories={SELECTED: recorded_trajectory()})
    )


def refused() -> TuiEvalApp:
    return app_of(
        ScriptedFeed(refused_events(), saved_rows(), trajectories={SELECTED: recorded_trajectory()})
    )


def over(*, saved: bool = True) -> TuiEvalApp:
    return app_of(ScriptedFeed(all_events(saved=saved), saved_rows(), live=False))


def with_questions() -> TuiEvalApp:
    """Every example with its question, as runs of the engine have it."""
    start, *done, end = all_events()
    named = [replace(event, question=QUESTIONS[at // EACH]) for at, event in enumerate(done)]
    return app_of(ScriptedFeed([start, *named, end], saved_rows(), live=False))


NOTES = {("0", 1): Note("said twice", ("odd", "check")), ("2", 1): Note("divides by zero")}


def noted() -> TuiEvalApp:
    app = over()
    annotations = app.live_screen.annotations

    async def read(path: str) -> None:
        annotations._show(path, NOTES)

    annotations._read = read
    return app


def not_started() -> TuiEvalApp:
    return app_of(ScriptedFeed(starts=False))


def without_log() -> TuiEvalApp:
    feed = ScriptedFeed(all_events(), saved_rows(), live=False)
    feed.logged = b""
    return app_of(feed)


def scored() -> TuiEvalApp:
    rows = {row: failed_row(row) if row in ERRORS else judged_row(row) for row in range(TOTAL)}
    rows[1] = unscored_row(1)
    start, *done, end = all_events()
    done = [done[row] if row in ERRORS else judged(row) for row in range(TOTAL)]
    done[1] = unscored(1)
    events = [start, *done, end]
    return app_of(ScriptedFeed(events, rows, live=False))


def moved_events() -> list[ev.Event]:
    """The limit was raised a moment ago."""
    return [*running_events(), ev.MaxConcurrentChanged(0, NOW - 3, 6, 4)]


def suite(
    events: list[ev.Event], *, live: bool = True, feeds: type[Feeds] = Feeds
) -> Callable[[], TuiEvalApp]:
    return lambda: TuiEvalApp(ScriptedFeed(events, live=live), open_feed=feeds(), now=lambda: NOW)


def paused_suite() -> TuiEvalApp:
    closed = ev.GateMoved(0, NOW, False, 0)
    awake = moved(RUNNING, "running", sleeping=0)
    return suite([*suite_events(), awake, closed], feeds=PausedFeeds)()


def comparing(write: Callable[[Path], list[Path]]) -> Callable[[], ScreenApp]:
    def make() -> ScreenApp:
        folder = tempfile.TemporaryDirectory()
        atexit.register(folder.cleanup)
        return ScreenApp(CompareRuns(write(Path(folder.name)), now=lambda: NOW))

    return make


def still_reading() -> ScreenApp:
    screen = CompareRuns([Path("outputs/careful-prompt"), Path("outputs/short")], now=lambda: NOW)
    screen.reading = screen.header.reading = Stuck(screen.reading.paths)
    return ScreenApp(screen)


def two_rollouts() -> ScreenApp:
    """The rollout that errored beside one of its group that began as it did."""
    run = RunSession(ScriptedFeed(all_events(), saved_rows(), live=False))
    run.fold(math.inf, lambda event: None)
    return ScreenApp(CompareRollouts(run.feed, run.state, 10, 9, now=lambda: NOW))


def killed() -> list[ev.Event]:
    why = "the engine was killed (signal 9, SIGKILL; often: out of memory)"
    return [*suite_events(), ev.RunFinished(0, NOW, "failed", 1, why)]


def faulty() -> TuiEvalApp:
    return app_of(faulty_feed())


def rate_limited() -> TuiEvalApp:
    return app_of(limited_feed())


def faulty_desk() -> FormBackend:
    """Runs among which is the one in which much goes wrong, and one of which nothing is left."""
    n = TOTAL - len(FAULTY)
    classes = {kind: sum(one == kind for one, _ in FAULTY.values()) for kind, _ in FAULTY.values()}
    faulty = found_run("4d4d4d4d", errored=len(FAULTY), n=n, classes=classes, failed_tools=10)
    lost = found_run("e0e0e0e0", errored=48, n=0, classes={"endpoint": 48}, reward=None, low=None,
                     high=None, date=NOW - 7200)  # fmt: skip
    return FormBackend([faulty, lost, *several_runs()])


def rich_feed_app() -> TuiEvalApp:
    return app_of(rich_feed())


def writing() -> TuiEvalApp:
    return app_of(writing_feed())


def home(backend: Callable[[], FormBackend]) -> Callable[[], TuiEvalApp]:
    def make() -> TuiEvalApp:
        pin_time_zone()
        app = HomeApp(backend(), now=lambda: NOW)
        app.home.folder = "~/evals/monday"
        return app

    return make


def busy_home() -> FormBackend:
    return FormBackend(several_runs())


def empty_home() -> FormBackend:
    bundled = [one for one in FormBackend().near if one.origin == "bundled"]
    return FormBackend(
        environments=bundled, endpoints=[one for one in FormBackend().served.listed if not one.url]
    )

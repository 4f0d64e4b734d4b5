"""The app of a run or a suite: folds the events of a feed, and sends commands back.

Only `tick` folds events, for a bounded time, and screens draw from the folded state: so a feed of
any speed leaves room for keys. The feed is the only connection to an engine: so one app shows runs
that are live, saved or recorded, and tests need no engine.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.screen import Screen

from tui_eval import clock
from tui_eval.errors import Fault
from tui_eval.feeds.feed import NullFeed, RecordedFeed
from tui_eval.fold.row_order import Sorting
from tui_eval.fold.run_state import RunState
from tui_eval.shipped import shipped
from tui_eval.tui.base.app import BaseApp
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.preferences import Preferences
from tui_eval.tui.base.terminal.browser import in_browser
from tui_eval.tui.base.ticker import Ticking, after
from tui_eval.tui.run.screen import RunScreen
from tui_eval.tui.run.session import RunSession, begin

if TYPE_CHECKING:
    from textual.types import CSSPathType

    from tui_eval.events import Event
    from tui_eval.feeds.feed import Feed, OpenFeed
    from tui_eval.fold.suite_state import SuiteState
    from tui_eval.tui.suite.controllers import OpenRuns

TICK_S = 1 / 12
BUDGET_S = 0.015
"""Seconds for which one tick may fold events; the next one, soon, folds the rest."""
WHOLE_AFTER = 100
"""Collections of young objects before a full one, which takes longer than a frame."""


class TuiEvalApp(BaseApp[Leave]):
    """Watches one run, or the evaluations of a suite where the feed has those.

    Args:
        feed: It is started after the first frame, and closed at the end.
        open_feed: Opens the feed of an evaluation of a suite.
        now: Unix seconds, for every clock on the screen.
        form: A screen that comes first; the feed is started when it is dismissed with a request,
            and the app is left when it is dismissed without one.
        begin: Gets that request before the feed is started.
        start: Makes the feed of an engine that resumes a run.
        joined: Whether the engine was at work before this app.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = str(shipped("styles", "live.tcss"))

    def __init__(
        self,
        feed: Feed,
        *,
        open_feed: OpenFeed = lambda path, socket: NullFeed(),
        now: Callable[[], float] = clock.now,
        form: Screen[dict[str, Any] | None] | None = None,
        begin: Callable[[dict[str, Any]], None] = lambda request: None,
        preferences: Preferences | None = None,
        start: Callable[[dict[str, Any]], Feed] = lambda request: NullFeed(),
        joined: bool = False,
    ) -> None:
        super().__init__(preferences)
        self._joined = joined
        self._form, self._begin_with = form, begin
        self._open_feed = open_feed
        self._start_feed = start
        self._if_refused: Callable[[list[Fault]], object] | None = None
        """Gets why there is no run to watch; the app is left where there is none."""
        self._once_shown: Callable[[], object] | None = None
        """Called at the first event that says something of the run."""
        self._now = now
        self._more_is_due = False
        self._events_taken = 0
        every_s = self.preferences.draws_every(TICK_S)
        self.ticking = Ticking(self.call_later, every_s, self._tick_once, self._is_at_work)
        self._turn_to(feed)

    def _turn_to(self, feed: Feed) -> None:
        """Begins with a new feed, of which no event has come yet."""
        self.feed = feed
        self.state = RunState()
        self.suite: SuiteState | None = None
        self._open_runs: OpenRuns | None = None
        self._root = RunSession(feed, self.state)
        self.live_screen = RunScreen(self._root, self._now)
        self._arrange()

    def _arrange(self) -> None:
        """Sorts and groups the list as people left it."""
        settings = self.preferences.settings
        sorting = Sorting(settings.sort, settings.descending, settings.grouped)
        self.live_screen.rollouts.begin_with(settings.columns, sorting)

    def get_default_screen(self) -> Screen[Any]:
        """The first screen; a suite's is pushed over it."""
        return self.live_screen

    def on_mount(self) -> None:
        if self._form is not None:
            self.push_screen(self._form, self._configured)

    def on_ready(self) -> None:
        """Loads the rest after the first frame."""
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self._collect_from_here()
        if self._form is None:
            self.run_worker(self._begin(), group="feed")

    def _collect_from_here(self) -> None:
        """Exempts all loaded modules from garbage collection: they stay to the end."""
        if not self.is_headless:
            gc.freeze()
            gc.set_threshold(*gc.get_threshold()[:2], WHOLE_AFTER)
            gc.enable()

    def _configured(self, request: dict[str, Any] | None) -> None:
        """Begins with the request of the form."""
        if request is None:
            self._leave(Leave("closed"))
        else:
            self._begin_with(request)
            self.run_worker(self._begin(), group="feed")

    async def _begin(self) -> None:
        await asyncio.gather(begin(self.feed, self.state), load("numpy"))  # for the histogram
        self.ticking.start()
        self.tick()
        await self._load_highlighting()

    async def _load_highlighting(self) -> None:
        await asyncio.to_thread(load_highlighting)
        self._collect_from_here()

    async def on_event(self, event: events.Event) -> None:
        """Takes in an event; the next tick comes soon after a key."""
        if isinstance(event, events.InputEvent | events.Paste):
            self.ticking.wake()
        await super().on_event(event)

    def _is_at_work(self) -> bool:
        begins = self.suite is None and self.state.end is None
        return begins or self.live_screen.status.at_work

    def _tick_once(self) -> Hashable:
        """Ticks; returns a value that changes with all that may be seen."""
        self.tick()
        live = self.live_screen
        return (self._events_taken, live, live.state.changed, live.reader.version)

    def tick(self) -> None:
        """Folds new events, for a bounded time, and draws the changes."""
        if not self.is_running:
            return  # it was due already when the screens were closed
        deadline = time.perf_counter() + BUDGET_S
        is_all = self._root.fold(deadline, self._take_root)
        if not is_all or (self._open_runs is not None and not self._open_runs.fold(deadline)):
            self._fold_more_soon()
        is_nothing = self.state.run is None and self.suite is None
        if self.state.refused or (self.state.end is not None and is_nothing):
            self._close_without_run()
        elif self.live_screen.is_mounted and self.screen_stack and self.is_line_free:
            self.live_screen.refresh_run()

    def _close_without_run(self) -> None:
        """Closes where the request was refused, or no engine came up."""
        if_refused, self._if_refused = self._if_refused, None
        if if_refused is None:
            self.exit(Leave("closed"))
            return
        end = [Fault("", self.state.end.text)] if self.state.end is not None else []
        if_refused([Fault(*fault) for fault in self.state.refused] or end)

    def _take_root(self, event: Event) -> None:
        """Takes in one event of the root."""
        self._events_taken += 1
        from tui_eval.events import RunStarted, SuiteStarted  # the first frame needs none

        if isinstance(event, (RunStarted, SuiteStarted)) and in_browser():
            self.notify_server(event.path)
        leaves = False
        if self.suite is not None:
            self.suite.apply(event)
        elif isinstance(event, SuiteStarted):
            leaves = self.live_screen.prompts.is_open
            self._become_suite(event)
        self.live_screen.take(event)
        if leaves:
            self.live_screen.quit_flow.confirm_leaving()
        if self._once_shown is not None and (self.state.run or self.suite) is not None:
            once_shown, self._once_shown = self._once_shown, None
            once_shown()

    def show_refusal(
        self,
        again: RunScreen.RunAgain,
        title: str,
        faults: list[Fault],
        resume: Callable[[RunScreen.RunAgain], object],
    ) -> None:
        """Says why a run was not resumed; changes alone can be accepted there.

        Args:
            resume: Gets the request with the accepted changes.
        """
        from tui_eval.tui.base.dialogs.question import refusal_question

        def answered(accepts: bool | None) -> None:
            if accepts:
                request = {**again.request, "raw": {**again.request["raw"], "accept_changes": True}}
                resume(self.live_screen.RunAgain(request, again.row))

        self.push_screen(refusal_question(title, faults), answered)

    def _become_suite(self, started: Event) -> None:
        """Puts the list of evaluations over the panes; closes dialogs over these."""
        from tui_eval.fold.suite_state import SuiteState
        from tui_eval.tui.suite.screen import SuiteScreen

        self.suite = SuiteState(notices=list(self.state.notices))
        self.suite.apply(started)
        before = self.live_screen
        screen = SuiteScreen(self._root, self.suite, self._open_feed, before.now)
        screen.over_home = before.over_home
        self.live_screen, self._open_runs = screen, screen.open_runs
        self._arrange()
        while self.screen is not before:
            self.pop_screen()
        self.push_screen(self.live_screen)

    def _fold_more_soon(self) -> None:
        """Folds more before the next tick; once, so that a backlog leaves room for keys."""
        if not self._more_is_due:
            self._more_is_due = True
            after(BUDGET_S, self, self._fold_more)

    def _fold_more(self) -> None:
        self._more_is_due = False
        self.tick()

    def on_rollout_list_arranged(self) -> None:
        """Saves the columns and the sorting of the list."""
        rollouts = self.live_screen.rollouts
        columns, sorting = rollouts.lines.chosen, rollouts.listing.sorting
        sort = ("-" if sorting.descending else "") + sorting.field if sorting.field else None
        self.preferences.settings = self.preferences.settings._replace(
            columns=columns,
            sort=sorting.field,
            descending=sorting.descending,
            grouped=sorting.grouped,
        )
        self.keep(
            {
                ("rollouts", "columns"): columns,
                ("rollouts", "sort"): sort,
                ("rollouts", "grouped"): None if sorting.grouped else False,
            }
        )

    def on_run_screen_left(self, message: RunScreen.Left) -> None:
        """Somebody decided how to leave."""
        self._leave(message.leave)

    def on_run_screen_run_again(self, message: RunScreen.RunAgain) -> None:
        """Has an engine resume the run; its screen replaces this one.

        Where that is refused the run, or the suite, is shown again with the reason.
        """
        path, of_suite = message.request["raw"]["resume"], self.suite.events if self.suite else []
        title = f"The {self.live_screen.noun} was not resumed"

        def show_again(faults: list[Fault]) -> None:
            feed = RecordedFeed(of_suite) if of_suite else self._open_feed(path, "")
            self._replace(feed, self.live_screen.first_row)
            self._once_shown = lambda: self.show_refusal(
                message, title, faults, self.live_screen.post_message
            )

        self._if_refused = show_again
        self._replace(self._start_feed(message.request), message.row)

    def _replace(self, feed: Feed, row: int) -> None:
        before, open_runs = self.feed, self._open_runs
        self._turn_to(feed)
        state = self.state
        self.live_screen.first_row = row
        while len(self.screen_stack) > 2:
            self.pop_screen()
        # The first screen of all cannot be taken away: it stays below, unseen.
        show = self.push_screen if len(self.screen_stack) == 1 else self.switch_screen
        show(self.live_screen)

        async def change() -> None:
            await close_feeds(before, open_runs)
            await begin(feed, state)

        self.run_worker(change(), group="feed")

    def _leave(self, leave: Leave) -> None:
        """Sends stop or detach to the engine, and exits."""
        if self.live_screen.status.at_work:
            from tui_eval.commands import Detach, Stop

            self.feed.send(Detach() if leave.action == "detach" else Stop())
        self.exit(leave)

    async def action_quit(self) -> None:
        """Stops a running run, and leaves without a question."""
        self._stop_and_leave()

    def leave_at_once(self) -> None:
        """Stops a running run; a tab that only joined it lets it continue."""
        if self._joined and in_browser() and self.live_screen.status.at_work:
            self._leave(Leave("detach"))
        else:
            self._stop_and_leave()

    def lose_terminal(self) -> None:
        """Ends; a run continues, as after `disown`, which keeps away the signal that stops it."""
        if self.return_code is None:
            self._leave(Leave("detach" if self.live_screen.status.at_work else "closed"))

    def _stop_and_leave(self) -> None:
        self._leave(Leave("stop" if self.live_screen.status.at_work else "closed"))

    def action_interrupt(self) -> None:
        """Opens the question of quitting; the second time stops the run. A form is just left."""
        from tui_eval.tui.base.dialogs.question import Question

        if self._form is not None and self._form in self.screen_stack:
            self._leave(Leave("closed"))
            return
        if isinstance(self.screen, Question) or self.live_screen.quit_flow.waits_for_end:
            self._stop_and_leave()
            return
        if self.screen is not self.live_screen:
            self.pop_screen()
        self.live_screen.quit_flow.confirm_leaving()

    def screen_of_commands(self, screen: Screen[Any]) -> Any:
        """The screen with the commands: dialogs have none, the run has."""
        return screen if hasattr(screen, "scopes") else self.live_screen

    async def on_unmount(self) -> None:
        self.ticking.stop()
        await close_feeds(self.feed, self._open_runs)


async def close_feeds(feed: Feed, open_runs: OpenRuns | None) -> None:
    """Closes the open runs of a suite, if any, and then the root's feed."""
    if open_runs is not None:
        await open_runs.close()
    await feed.close()


async def load(*modules: str) -> None:
    """Loads modules off the loop, as that takes longer than a frame."""
    for name in modules:
        await asyncio.to_thread(import_module, name)


def load_highlighting() -> None:
    """Loads the languages that texts are highlighted in."""
    from tui_eval.tui.trajectory.syntax import load

    load()

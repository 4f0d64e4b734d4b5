"""The app with the home screen first: runs are opened over it, and leaving one leads back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.screen import Screen

from tui_eval import clock
from tui_eval.errors import Fault
from tui_eval.feeds.feed import NullFeed
from tui_eval.shipped import shipped
from tui_eval.tui.app import TuiEvalApp, close_feeds, load
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.preferences import Preferences
from tui_eval.tui.home.screen import HomeScreen
from tui_eval.tui.run.screen import RunScreen
from tui_eval.tui.run.session import begin

if TYPE_CHECKING:
    from textual.types import CSSPathType

    from tui_eval.feeds.feed import Feed, OpenFeed
    from tui_eval.tui.home.backend import HomeBackend


def joined_text() -> str:
    """A sentence on the keys for a run that somebody else started."""
    back, stop = key_for("run.leave"), key_for("app.interrupt")
    return f"Attached: {back} goes back and leaves it running, {stop} asks whether to stop it."


def left_text(leave: Leave, noun: str = "run") -> str:
    """A sentence on a run or suite that was left while it ran."""
    one = "it" if noun == "run" else "a run of it"
    if leave.action == "detach":
        return f"The {noun} continues; {key_for('runs.open')} attaches to {one} again."
    kept = f"What finished is kept; {key_for('home.resume')} resumes {one}."
    return f"The {noun} is stopping. {kept}"


class HomeApp(TuiEvalApp):
    """The app over home: shows one run or suite, or none."""

    CSS_PATH: ClassVar[CSSPathType | None] = [
        str(shipped("styles", name)) for name in ("live.tcss", "home.tcss")
    ]

    def __init__(
        self,
        backend: HomeBackend,
        *,
        open_feed: OpenFeed = lambda path, socket: NullFeed(),
        now: Callable[[], float] = clock.now,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__(
            NullFeed(), open_feed=open_feed, now=now, start=backend.start, preferences=preferences
        )
        self._backend = backend
        self.home = HomeScreen(backend, now)
        self.watches = False
        self._starting: asyncio.Task[None] | None = None
        self._let_go: set[asyncio.Task[None]] = set()

    def get_default_screen(self) -> Screen[Any]:
        return self.home

    async def _begin(self) -> None:
        self.ticking.start()
        self.home.polling.begin()
        await load("numpy", "tui_eval.tui.compare.screen", "tui_eval.tui.form.screen")
        await self._load_highlighting()

    def on_home_screen_run_wanted(self, wanted: HomeScreen.RunWanted) -> None:
        """Opens a run over home."""
        if self.watches:
            return
        self._turn_to(wanted.feed)
        self.watches, self._if_refused = True, wanted.if_refused
        self.live_screen.over_home, self.live_screen.joined = True, wanted.joined
        self.push_screen(self.live_screen)
        self._starting = asyncio.create_task(self._open(wanted.feed))

    async def _open(self, feed: Feed) -> None:
        live, state = self.live_screen, self.state
        has_begun = await begin(feed, state)
        if has_begun and feed.live and live.joined and live is self.live_screen:
            live.keys.say(joined_text(), self._now())

    def on_run_screen_left(self, message: RunScreen.Left) -> None:
        """Goes back home; a running run continues without this screen."""
        message.prevent_default()  # the handler of the app that ends with its run
        self._go_home(message.leave)

    def on_run_screen_run_again(self, message: RunScreen.RunAgain) -> None:
        """Opens the run again, with an engine that resumes it."""
        message.prevent_default()
        self._go_home(Leave("closed"))
        self._run_again(message)

    def _run_again(self, again: RunScreen.RunAgain) -> None:
        def refused(faults: list[Fault]) -> None:
            self.show_refusal(again, "This run was not resumed", faults, self._run_again)

        feed = self._start_feed(again.request)
        self.on_home_screen_run_wanted(HomeScreen.RunWanted(feed, if_refused=refused))
        self.live_screen.first_row = again.row

    def _close_without_run(self) -> None:
        """Goes back home, and says there why there is no run."""
        refused = [Fault(*fault) for fault in self.state.refused]
        why = self.state.end.text if self.state.end is not None else ""
        self._go_home(Leave("closed"))
        if refused and self._if_refused is not None:
            self._if_refused(refused)
        elif text := "\n".join(map(str, refused)) or why:
            from tui_eval.tui.base.dialogs.question import closing_question

            self.push_screen(closing_question("This run did not begin", text))

    def _go_home(self, leave: Leave) -> None:
        """Closes the run that is shown."""
        feed, starting, live = self.feed, self._starting, self.live_screen
        open_runs = self._open_runs
        path = self.state.run.path if self.state.run is not None else ""
        at_work = live.status.at_work
        self.watches = False
        self._turn_to(NullFeed())
        while self.screen is not self.home:
            self.pop_screen()
        if path:
            self.home.show_seen(path)
        if at_work and leave.action != "closed":
            self.home.say(left_text(leave, live.noun))

        async def close() -> None:
            """Closes the run; a half made connection is never dropped: that would stop it."""
            from tui_eval.commands import Detach, Stop

            if starting is not None:
                await starting
            feed.send(Stop() if leave.action == "stop" else Detach())
            await close_feeds(feed, open_runs)
            if leave.action != "detach":
                save = path if leave.save else ""
                if why := await asyncio.to_thread(self._backend.end, feed, save=save):
                    self.home.say(why)
            self.home.polling.look_soon()

        task = asyncio.create_task(close())
        self._let_go.add(task)
        task.add_done_callback(self._let_go.discard)

    def _stop_and_leave(self) -> None:
        """Leaves the app; a joined run continues."""
        if not self.watches:
            self.exit(Leave("closed"))
        elif self.live_screen.joined:
            self._leave(Leave("detach"))
        else:
            super()._stop_and_leave()

    def action_interrupt(self) -> None:
        """Leaves home; over a run opens the question; elsewhere goes back."""
        if self.watches:
            super().action_interrupt()
        elif self.screen is not self.home:
            self.pop_screen()
        else:
            self.exit(Leave("closed"))

    def _is_at_work(self) -> bool:
        return self.watches and super()._is_at_work()

    async def on_unmount(self) -> None:
        """Waits until every run is closed."""
        self.ticking.stop()
        await asyncio.gather(*self._let_go)

"""The full-screen app: shows a run as a feed tells it, and sends commands back."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from tui_eval.fold.run_state import RunState
from tui_eval.shipped import shipped
from tui_eval.tui.commands import COMMANDS, bindings
from tui_eval.tui.leaving import Leave
from tui_eval.tui.screens.live import LiveScreen
from tui_eval.tui.themes import DARK, THEMES

if TYPE_CHECKING:
    from tui_eval.fold.feed import Feed

TICK_S = 1 / 12
BATCH = 500
"""Events folded between two looks at the clock."""
BUDGET_S = 0.015
"""How long one tick may fold events; what is left comes with the next one, soon."""


class TuiEvalApp(App[Leave]):
    """Watches one run.

    Args:
        feed: The run; it is started after the first frame, and closed at the end.
        now: Unix seconds, for every clock on the screen.
        saved: False where leaving asks whether to save the run, whatever the run says of itself.
    """

    TITLE = "tui-eval"
    CSS_PATH = str(shipped("styles", "live.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(
        self, feed: Feed, *, now: Callable[[], float] = time.time, saved: bool = True
    ) -> None:
        super().__init__()
        self.feed = feed
        self.state = RunState()
        self._more_is_due = False
        self.live_screen = LiveScreen(feed, self.state, now, saved)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK.name  # Textual's own default may already be the wished one, unstyled
        sixteen_colours = self.console.color_system == "standard"
        wished = os.environ.get("TEXTUAL_THEME") or ("ansi-dark" if sixteen_colours else "")
        if wished in self.available_themes:
            self.theme = wished

    def get_default_screen(self) -> Screen[Any]:
        """The only screen there is."""
        return self.live_screen

    def on_mount(self) -> None:
        """Signals that end programs stop the run; the whole screen is drawn after a suspension."""
        self.app_resume_signal.subscribe(self, lambda _: self.refresh())
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._stop_and_leave)

    def on_ready(self) -> None:
        """After the first frame the rest is loaded."""
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        if not self.is_headless:
            # What was loaded until here stays to the end: no collection looks through it again.
            gc.freeze()
            gc.enable()
        self.run_worker(self._begin(), group="feed")

    async def _begin(self) -> None:
        await asyncio.gather(self.feed.start(), asyncio.to_thread(_load_numbers))
        self.set_interval(TICK_S, self.tick)
        self.tick()

    def tick(self) -> None:
        """Folds what is new, for a bounded time, and draws what changed."""
        deadline = time.perf_counter() + BUDGET_S
        while events := self.feed.drain(BATCH):
            for event in events:
                self.state.apply(event)
                self.live_screen.take(event)
            if time.perf_counter() > deadline:
                self._fold_more_soon()
                break
        if self.state.refused or (self.state.end is not None and self.state.run is None):
            self.exit(Leave("closed"))
            return
        self.live_screen.refresh_run()

    def _fold_more_soon(self) -> None:
        """Before the clock's next tick; once, so that a backlog leaves room for keys."""
        if not self._more_is_due:
            self._more_is_due = True
            self.set_timer(BUDGET_S, self._fold_more)

    def _fold_more(self) -> None:
        self._more_is_due = False
        self.tick()

    def on_live_screen_left(self, message: LiveScreen.Left) -> None:
        """Somebody decided how to leave."""
        self._leave(message.leave)

    def _leave(self, leave: Leave) -> None:
        """Tells the engine, and goes."""
        if self.live_screen.goes_on:
            from tui_eval.events import Detach, Stop

            self.feed.send(Detach() if leave.action == "detach" else Stop())
        self.exit(leave)

    async def action_quit(self) -> None:
        """Stops the run if it goes on, and leaves without a question."""
        self._stop_and_leave()

    def _stop_and_leave(self) -> None:
        self._leave(Leave("stop" if self.live_screen.goes_on else "closed"))

    def action_interrupt(self) -> None:
        """Asks as quitting does; asked a second time it stops the run."""
        from tui_eval.tui.screens.question import Question

        if isinstance(self.screen, Question):
            self._stop_and_leave()
            return
        if self.screen is not self.live_screen:
            self.pop_screen()
        self.live_screen.action_leave()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The table's commands, and the choice of a theme."""
        for command in COMMANDS:
            if command.palette:
                yield SystemCommand(
                    command.help, f"key {command.shown}", self._runner(command.action)
                )
        yield SystemCommand(
            "Change the theme", "Dark, light, or the terminal's", self.action_change_theme
        )

    def _runner(self, action: str) -> Callable[[], Any]:
        return lambda: self.run_action(action, default_namespace=self.live_screen)

    async def on_unmount(self) -> None:
        """Lets go of the run."""
        await self.feed.close()


def _load_numbers() -> None:
    """Loads what the histogram needs, off the loop: it takes longer than a frame."""
    import numpy  # noqa: F401

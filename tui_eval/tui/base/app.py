"""The base of every app: people's settings, the palette, the themes; and an app of one screen.

There are three apps (a run, home, a single screen), and people's keys and colours hold in all of
them. Here is only what needs the app; a screen acts by the controllers that it holds.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import events, work
from textual.app import SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.dom import NoScreen
from textual.filter import LineFilter, Monochrome, NoColor
from textual.screen import Screen

from tui_eval.printable import one_line
from tui_eval.shipped import shipped
from tui_eval.text.key_names import sign_of
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import COMMANDS, IN_USE, bindings
from tui_eval.tui.base.lines.mouse_lines import MouseLines
from tui_eval.tui.base.look.themes import (
    choices,
    dress,
    fitting_theme,
    keep_answer,
    shades_of,
    theme_of,
)
from tui_eval.tui.base.look.widths import count_spacing_marks
from tui_eval.tui.base.preferences import Preferences
from tui_eval.tui.base.terminal.browser import in_browser
from tui_eval.tui.base.terminal.in_turn import InTurnApp
from tui_eval.tui.base.textual_private import KeptStylesheet, can_drive_terminals, take_callbacks

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.types import CSSPathType

Result = TypeVar("Result")
MOST_SHOWN = 500
NO_COLOUR = NoColor()
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class BaseApp(InTurnApp[Result]):
    """An app with people's settings: keys, theme, motion; their choices in it are saved.

    Args:
        preferences: None for the defaults, of which no change is saved.
    """

    TITLE = "tui-eval"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(
        self, preferences: Preferences | None = None, *, css_path: CSSPathType | None = None
    ) -> None:
        super().__init__(css_path=css_path)
        count_spacing_marks()
        self.stylesheet = KeptStylesheet(self.get_css_variables())
        self._ends_on_signals = False
        self._handlers_before: dict[int, Any] = {}
        """The handlers that the signals of `ENDING` had before."""
        self.preferences = preferences or Preferences()
        keymap = self.preferences.keymap
        IN_USE.set(keymap)
        self.set_keymap({name: ",".join(keys) for name, keys in keymap.changed.items()})
        if self.preferences.is_still:
            self.animation_level = "none"
        dress(self, self._chosen_theme)

    @property
    def _chosen_theme(self) -> str:
        # The greys of the other themes are colours as well.
        return "terminal" if self.no_color else self.preferences.settings.theme

    def take_ground(self, is_light: bool | None) -> None:
        """Takes whether the terminal's background is light; None where it has not answered."""
        keep_answer(is_light)
        self.theme = fitting_theme(self, self._chosen_theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Shades for themes that are not our own."""
        return shades_of(self.current_theme)

    def get_driver_class(self) -> type[Driver]:
        """Our driver in place of Textual's for a terminal."""
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver" or not can_drive_terminals(usual):
            return usual
        from tui_eval.tui.base.terminal.driver import TerminalDriver

        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Filters of every line, without Textual's for ANSI colours, which have no greys."""
        filters = super().get_line_filters()
        if not (self.no_color and self.native_ansi_color):
            return filters
        return [NO_COLOUR if isinstance(one, Monochrome) else one for one in filters]

    async def run_async(self, *, headless: bool = False, **options: Any) -> Result | None:
        """Runs the app; restores the terminal and the signal handlers at its end."""
        if headless:
            return await super().run_async(headless=True, **options)
        if os.environ.get("TUI_EVAL_NO_MOUSE", "0") not in ("", "0"):
            options["mouse"] = False
        self._ends_on_signals = True
        try:
            return await super().run_async(**options)
        finally:
            if give_back := getattr(self.drawn_by, "give_back", None):
                give_back()
            while self._handlers_before:
                number, handler = self._handlers_before.popitem()
                asyncio.get_running_loop().remove_signal_handler(number)
                signal.signal(number, handler)

    def pop_screen(self) -> AwaitComplete:
        """Removes the top screen; callbacks that wait for its frame get the next screen's.

        Textual holds these at the top screen, and loses them with that.
        """
        gone = self.screen
        popped = super().pop_screen()
        for callback, sender in take_callbacks(gone):
            with suppress(NoScreen):  # a dialog that closed before has nothing to do any more
                if getattr(sender, "screen", None) is not gone:
                    sender.call_after_refresh(callback)
        return popped

    def notify_server(self, path: str) -> None:
        """Reports to `tui-eval serve` which run or file of evaluations this app shows."""
        if publish := getattr(self.drawn_by, "notify_server", None):
            publish(path)

    def on_load(self) -> None:
        """Has signals that end programs end the app, from before the terminal is taken.

        An exception instead would come from wherever the loop is just then, also from the
        middle of taking the terminal or of giving it back.
        """
        for number in ENDING if self._ends_on_signals else ():
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                self._handlers_before.setdefault(number, signal.getsignal(number))
                asyncio.get_running_loop().add_signal_handler(number, self.leave_at_once)

    def leave_at_once(self) -> None:
        """Ends the app without a question: a signal came."""
        self.exit()

    def lose_terminal(self) -> None:
        """Ends the app when its terminal is gone without a signal."""
        self.leave_at_once()

    def on_mount(self) -> None:
        """Has the whole screen drawn after a suspension."""
        self.on_load()  # the driver of browsers has taken some of the signals
        self.app_resume_signal.subscribe(self, lambda _: self.redraw())

    def on_ready(self) -> None:
        """Shows faults of the settings once there is a line for them."""
        if warning := self.preferences.warning:
            self.call_after_refresh(self.show_message, warning)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stops the cursor's blinking where motion is off."""
        if self.preferences.is_still and hasattr(event.widget, "cursor_blink"):
            event.widget.cursor_blink = False

    def show_message(self, text: str) -> None:
        """Shows a message on the bottom line of the screen."""
        for screen in reversed(self.screen_stack):
            line = getattr(screen, "keys", None)
            if isinstance(line, KeyLine):
                line.say(one_line(text, MOST_SHOWN), getattr(screen, "now", time.time)())
                return

    @work(group="copy", exclusive=True)
    async def on_mouse_lines_dragged(self, message: MouseLines.Dragged) -> None:
        from tui_eval.tui.base.terminal.copied import copy

        self.show_message(await copy(self, message.text, "the selection"))

    def keep(self, changes: Mapping[tuple[str, ...], Any]) -> None:
        """Saves changed settings, off the loop; says so where that fails."""
        self.preferences.choose(changes)
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, self.preferences.write).add_done_callback(self._kept)

    def _kept(self, written: asyncio.Future[None] | Future[None]) -> None:
        if not written.cancelled() and (error := written.exception()) is not None:
            self.show_message(f"Not kept in your settings: {error}")

    def choose_theme(self, name: str) -> None:
        self.theme = theme_of(self, name)
        self.keep({("theme",): name})

    def action_suspend_process(self) -> None:
        """Suspends to the shell, where there is one."""
        if in_browser():
            self.show_message("In a browser there is no shell to go to.")
        else:
            super().action_suspend_process()

    def action_command_palette(self) -> None:
        from tui_eval.tui.base.keys.palette import Palette

        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())

    def screen_of_commands(self, screen: Screen[Any]) -> Any:
        """The screen whose commands the palette has."""
        return screen

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The commands of the screen, by the tables, and the themes."""
        where = self.screen_of_commands(screen)
        listed = getattr(where, "listed", "")
        for command in COMMANDS:
            if command.palette and command.scope in (*getattr(where, "scopes", ()), listed):
                is_listed = command.scope == listed
                action = f"in_list({command.action!r})" if is_listed else command.action
                act: Any = partial(self.run_action, action, default_namespace=where)
                keys = " or ".join(sign_of(key) for key in IN_USE.get().keys(command))
                yield SystemCommand(command.palette_name, f"key {keys}" if keys else "", act)
        for name, meaning in choices().items():
            act = partial(self.choose_theme, name)
            yield SystemCommand(f"Theme: {name}", meaning, act)


class ScreenApp(BaseApp[None]):
    """An app of one screen, which ends with that."""

    def __init__(self, first: Screen[Any], preferences: Preferences | None = None) -> None:
        styles = (shipped("styles", "live.tcss"), first.CSS_PATH)  # a first screen's is not loaded
        super().__init__(preferences, css_path=[str(path) for path in styles if path])
        self.first = first

    def get_default_screen(self) -> Screen[Any]:
        return self.first

    def action_interrupt(self) -> None:
        """Quits without a question: nothing is at work."""
        self.exit()

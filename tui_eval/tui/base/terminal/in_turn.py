"""An app on a line that may be slow: its keys and its frames are handled in turn.

Over such a line keys come faster than screens open, and frames faster than the terminal takes them.
Textual hands a key to the widget that has the focus now, which may not be the one that the key
before opens: a typed filter would then be taken as commands. And it writes every frame: those that
the line has not taken wait in a queue, and the effect of a key comes behind them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS
from textual import actions, events
from textual.actions import ActionParseResult
from textual.dom import DOMNode
from textual.driver import Driver
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from tui_eval.tui.base.terminal.cells import ScreenCells
from tui_eval.tui.base.textual_private import FrameSource, Update

if TYPE_CHECKING:
    from textual.types import CSSPathType

    from tui_eval.tui.base.terminal.line import Line

Result = TypeVar("Result")
REPEATED = ("move", "page")
"""Actions of keys that are held down to move."""
PATIENCE_S = 3.0
"""Seconds that a key waits for one before it that got lost with a closed screen."""


class InTurnApp(FrameSource[Result]):
    """Handles each key once the one before is done, writes each frame once the last is out.

    A key is a command only on its way back from the widget with the focus, by way of queues: one
    that comes meanwhile would reach that widget, not the entry or the screen that the first opens.
    Frames are drawn into cells, of which the terminal is sent those that it does not show yet.
    """

    @dataclass
    class Taken(Message):
        """A marker behind a key in the queues; posted again once its effect is drawn."""

        number: int
        is_shown: bool = False

    drawn_by: Driver | None = None
    """The app's own driver, which sets itself here."""
    line: Line | None = None
    """The line to the terminal, if any: whoever sets it takes frames as well."""
    _cells: ScreenCells | None = None
    _cursor_shown = (-1, -1)
    _was_resized = False
    _has_synchronized_output = False

    def __init__(self, *, css_path: CSSPathType | None = None) -> None:
        super().__init__(css_path=css_path)
        self._typed_ahead: deque[events.Key | events.Paste] = deque()
        self._key_number = 0
        self._repeats = 0
        """Repeated keys that were handled with one before them, and have no number."""
        self._last_key = ""
        self._is_key_on_its_way = False
        self._key_patience: Timer | None = None
        self._key_screen: Screen[Any] | None = None
        self._focus_follows = False
        self._is_repeated: bool | None = None
        """Whether the last key moves; None while that is not known yet."""

    def keys_wait_for_focus(self) -> None:
        """Has the next keys wait for a focus that moves once it is drawn."""
        self._focus_follows = True

    async def on_event(self, event: events.Event) -> None:
        """Handles an event; a key that comes too soon waits."""
        is_typed = isinstance(event, (events.Key, events.Paste))
        if is_typed and not self.screen_stack:
            return  # the app ends
        if event.is_forwarded or not isinstance(event, (events.Key, events.Paste)):
            await super().on_event(event)
        elif self._is_key_on_its_way and (self._typed_ahead or not self._is_same_key_held(event)):
            self._typed_ahead.append(event)
        else:
            await self._hand_on(event)

    def _is_same_key_held(self, event: events.Key | events.Paste) -> bool:
        """Whether a key need not wait for the one before, as one key is held down.

        The effects of such keys may be drawn together. Keys that move are joined with the waiting
        ones into one larger step.
        """
        is_same = isinstance(event, events.Key) and event.key == self._last_key
        return is_same and self._is_repeated is False

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Runs the action of a key; a move as often as its key waits."""
        name = action.partition("(")[0] if isinstance(action, str) else ""
        if self._is_key_on_its_way:
            self._is_repeated = name in REPEATED
        times = 1 + (self._take_repeats() if self._is_repeated else 0)
        if times > 1 and name == "move" and getattr(default_namespace, "moves_add_up", False):
            place, name, parameters = cast(
                "tuple[str, str, tuple[int, ...]]", actions.parse(str(action))
            )
            action, times = (place, name, tuple(times * one for one in parameters)), 1
        for _ in range(times):
            done = await super().run_action(action, default_namespace, namespaces)
        return done

    def _take_repeats(self) -> int:
        """The number of waiting repeats of the current key, which are handled with it."""
        times, waiting = 0, self._typed_ahead
        while waiting and getattr(waiting[0], "key", None) == self._last_key:
            waiting.popleft()
            times += 1
        self._repeats += times
        return times

    async def _hand_on(self, event: events.Key | events.Paste) -> None:
        target, self._key_screen = self.focused or self.screen, self.screen
        key = event.key if isinstance(event, events.Key) else ""
        if key != self._last_key:
            self._is_repeated = None
        self._last_key = key
        self._focus_follows = False
        if self._key_patience is not None:
            self._key_patience.stop()
        await super().on_event(event)
        self._key_number += 1
        number = self._key_number
        self._is_key_on_its_way = target.post_message(self.Taken(number))
        if self._is_key_on_its_way:
            self._key_patience = self.set_timer(PATIENCE_S, lambda: self._hand_on_next(number))

    async def on_in_turn_app_taken(self, message: Taken) -> None:
        """Releases the next key, once a screen or pane that this one opened has the focus."""
        message.stop()
        if not self.screen_stack:
            return  # the app ends
        moves = self._focus_follows or self.screen is not self._key_screen
        if moves and not message.is_shown:
            shown = self.Taken(message.number, is_shown=True)
            self.screen.call_after_refresh(self.post_message, shown)
        else:
            await self._hand_on_next(message.number)

    async def _hand_on_next(self, number: int) -> None:
        if number != self._key_number or not self._is_key_on_its_way:
            return
        self._is_key_on_its_way = False
        self._is_repeated = bool(self._is_repeated)
        waiting = self._typed_ahead
        while waiting and (not self._is_key_on_its_way or self._is_same_key_held(waiting[0])):
            await self._hand_on(waiting.popleft())

    @property
    def is_line_free(self) -> bool:
        """Whether a frame drawn now would not wait for an earlier one."""
        return self.line is None or self.line.is_free

    def on_resize(self, event: events.Resize) -> None:
        """Has everything drawn: a resized terminal keeps unknown cells.

        It may have had another size in between.
        """
        if self._cells is not None and self._was_resized:
            self._cells.forget()
        self._was_resized = True

    def redraw(self) -> None:
        """Writes the whole screen: the terminal's cells are unknown."""
        if self._cells is not None:
            self._cells.forget()
        self.refresh()

    def on_terminal_supports_synchronized_output(self) -> None:
        """Takes note that the terminal shows marked frames at once."""
        self._has_synchronized_output = True

    def take_frame(self, update: Update) -> None:
        """Takes in a frame, and writes it once the last one is out."""
        cells, colours = self._cells, self.console.color_system
        if cells is None or (cells.width, cells.height) != self.size:
            cells = self._cells = ScreenCells(*self.size)
        cells.take(update, COLOR_SYSTEMS[colours] if colours else ColorSystem.TRUECOLOR)
        if self.line is not None:
            self.line.when_free(self._write_frame)

    def _write_frame(self) -> None:
        line, driver, cells = self.line, self.drawn_by, self._cells
        if line is None or driver is None or cells is None or self.return_code is not None:
            return
        cursor = self.size.clamp_offset(self.cursor_position)
        text = cells.changes()
        if not text and cursor == self._cursor_shown:
            return
        self._cursor_shown = cursor
        text += f"{line.question_after(text, self.size.width)}\x1b[{cursor.y + 1};{cursor.x + 1}H"
        if (
            self._has_synchronized_output and not line.is_slow
        ):  # else it is seen as it comes, texts first
            text = f"\x1b[?2026h{text}\x1b[?2026l"
        driver.write(text)


def focus_once_drawn(screen: Screen[Any], widget: Widget) -> None:
    """Moves the focus to a widget that shows with the next frame; keys meanwhile wait for that."""
    if isinstance(screen.app, InTurnApp):
        screen.app.keys_wait_for_focus()
    screen.call_after_refresh(screen.set_focus, widget)

"""Layout of panes in a terminal: by width and height, one alone, or as tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from textual.app import App
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_eval.tui.base.lines.line_view import NO_STYLE, Frame, LineView
from tui_eval.tui.base.look.ink import Line, line_width, strip_of
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.base.terminal.in_turn import focus_once_drawn

WIDTHS = [(0, "-narrow"), (100, "-normal"), (170, "-wide")]
HEIGHTS = [(0, "-short"), (34, "-tall")]
"""Classes of a screen, from so many columns or lines on."""
RULE_START = "─ "
GAP, RULED_GAP = 5, 2
"""Cells between two tabs."""
ONE_PANE = "Only one pane fits here; it already fills the screen."


def size_classes(size: Size) -> list[str]:
    """The classes of a screen of a size, to be set before it is mounted."""
    cells = zip(size, (WIDTHS, HEIGHTS), strict=True)
    return [max(point for point in points if count >= point[0])[1] for count, points in cells]


class Zoom:
    """Gives the whole screen to one pane of a grid; a narrow screen shows one of them anyway."""

    def __init__(self, screen: DrawnScreen[Any], grid: Widget, changed: Callable[[], None]) -> None:
        self.screen, self.grid, self.changed = screen, grid, changed

    @property
    def can_zoom(self) -> bool:
        """Whether the pane with the focus would have more room."""
        return not self.screen.has_class("-narrow")

    @property
    def is_zoomed(self) -> bool:
        """Whether the pane with the focus was given room that others would have."""
        return self.can_zoom and self.grid.has_class("-zoomed")

    @property
    def word(self) -> str:
        """The footer word of the key; empty where it does nothing."""
        return ("unzoom" if self.is_zoomed else "zoom") if self.can_zoom else ""

    def action_zoom(self) -> None:
        if self.can_zoom:
            self.grid.toggle_class("-zoomed")
            self.changed()
        else:
            self.screen.say(ONE_PANE)


class PaneFocus:
    """Moves the focus between panes; `enter` lays them out for the one of a number, from 1."""

    def __init__(
        self, screen: DrawnScreen[Any], panes: Sequence[Widget], enter: Callable[[int], object]
    ) -> None:
        self._screen, self._panes, self._enter = screen, panes, enter

    def action_pane(self, number: int) -> None:
        self._enter(number)
        focus_once_drawn(self._screen, self._panes[number - 1])

    def action_next_pane(self, by: int = 1) -> None:
        """Goes to the next or previous pane."""
        panes, focused = self._panes, self._screen.focused
        here = panes.index(focused) if focused in panes else 0
        self.action_pane((here + by) % len(panes) + 1)


def style_of_others(app: App[Any]) -> str:
    """The style of hidden panes' titles in the title of another pane."""
    return "not bold $foreground " + ("dim" if app.native_ansi_color else "68%")


class Tab(NamedTuple):
    """A pane's name, and how many things are in it; -1 while that is unknown."""

    name: str
    holds: int


class PaneTabs(LineView, can_focus=False):
    """A line with the panes as tabs, where only one of them has room.

    Args:
        ruled: Whether they are in a rule, as the title of the pane below would be.
    """

    @dataclass
    class Chosen(Message):
        """Somebody clicked on a tab."""

        number: int

    def __init__(self, tabs: Sequence[Tab] = (), *, ruled: bool = False, id: str) -> None:
        super().__init__(id=id)
        self.tabs = tabs
        self.key_ink = "key"
        """The ink of their numbers; faint where these are no keys."""
        self.ruled = ruled
        self.current = 1

    def show(self, number: int) -> None:
        self.current = number
        self.update()

    def _tab(self, at: int) -> Line:
        """A tab; the current one looks like the title of a focused pane."""
        name, holds = self.tabs[at]
        count = f" {holds:,}" if holds >= 0 else ""
        ink = "key" if at + 1 == self.current else "muted"
        return (
            (f"{at + 1} ", self.key_ink),
            (f"{name}{count}", ink),
            (" " * (RULED_GAP if self.ruled else GAP), ""),
        )

    def count(self) -> int:
        return 1

    def line(self, index: int) -> Line:
        tabs = tuple(span for at in range(len(self.tabs)) for span in self._tab(at))
        if not self.ruled:
            return tabs
        rest = self.size.width - len(RULE_START) - line_width(tabs)
        return ((RULE_START, "busy"), *tabs, ("─" * rest, "busy"))

    def _build(self, y: int, frame: Frame) -> Strip:
        """Draws a rule from edge to edge, as the frame of a pane."""
        if not self.ruled:
            return super()._build(y, frame)
        return strip_of(self.line(0), self.size.width, self.ink, NO_STYLE)

    def clicked_at(self, x: int, index: int) -> None:
        end = len(RULE_START) - 1 if self.ruled else 0
        for at in range(len(self.tabs)):
            end += line_width(self._tab(at))
            if x < end:
                self.post_message(self.Chosen(at + 1))
                return

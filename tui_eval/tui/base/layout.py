"""How a screen fits its panes into a terminal: by width and height, or one alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.geometry import Size
from textual.widget import Widget

from tui_eval.tui.base.terminal.drawing import DrawnScreen

WIDTHS = [(0, "-narrow"), (100, "-normal"), (170, "-wide")]
HEIGHTS = [(0, "-short"), (34, "-tall")]
"""Classes of a screen, from so many columns or lines on."""
ONE_PANE = "Only one pane fits here; it already fills the screen."


def size_classes(size: Size) -> list[str]:
    """The classes that a screen of a size gets: what they change can be mounted with them."""
    cells = zip(size, (WIDTHS, HEIGHTS), strict=True)
    return [max(point for point in points if count >= point[0])[1] for count, points in cells]


class Zoom:
    """Gives the whole screen to one pane; a narrow screen shows one of them anyway.

    Args:
        grid: Lays the panes out.
        changed: Called when something else is shown.
    """

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
        """What the key does, in a word; empty where it does nothing."""
        return ("unzoom" if self.is_zoomed else "zoom") if self.can_zoom else ""

    def action_zoom(self) -> None:
        """Gives the whole screen to the pane with the focus, or takes it back."""
        if self.can_zoom:
            self.grid.toggle_class("-zoomed")
            self.changed()
        else:
            self.screen.say(ONE_PANE)


def style_of_others(app: App[Any]) -> str:
    """How the titles of panes that are not shown look in that of another."""
    return "not bold $foreground " + ("dim" if app.native_ansi_color else "68%")

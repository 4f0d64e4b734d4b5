"""How a screen fits its panes into a terminal: by width and height, or one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.geometry import Size
from textual.screen import ScreenResultType
from textual.widget import Widget

from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.base.terminal.in_turn import focus_once_drawn

if TYPE_CHECKING:
    from tui_eval.tui.base.keys.command import Scope
    from tui_eval.tui.base.lines.pane_tabs import PaneTabs

WIDTHS = [(0, "-narrow"), (100, "-normal"), (170, "-wide")]
HEIGHTS = [(0, "-short"), (34, "-tall")]
"""Classes of a screen, from so many columns or lines on."""
ONE_PANE = "Only one pane fits here; it already fills the screen."


def size_classes(size: Size) -> list[str]:
    """The classes that a screen of a size gets: what they change can be mounted with them."""
    cells = zip(size, (WIDTHS, HEIGHTS), strict=True)
    return [max(point for point in points if count >= point[0])[1] for count, points in cells]


class PanedScreen(DrawnScreen[ScreenResultType]):
    """Panes in a `grid`: those that there is room for, or the one with the focus."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    panes: list[Widget]
    grid: Widget
    pane_scopes: ClassVar[dict[str, Scope]] = {}
    """Where the commands of a pane work, by its id where that is not the name."""

    @property
    def pane_scope(self) -> Scope:
        """Where the commands of the pane with the focus work."""
        pane = getattr(self.focused, "id", None) or ""
        return self.pane_scopes.get(pane, pane)

    def enter(self, number: int) -> None:
        """Lays the panes out for this one."""
        raise NotImplementedError

    def update_keys(self) -> None:
        """Shows the keys that work now."""
        raise NotImplementedError

    def on_descendant_focus(self) -> None:
        """Shows the pane that has the focus where there is room for one only."""
        if self.focused in self.panes:
            self.enter(self.panes.index(self.focused) + 1)
        self.update_keys()

    def on_pane_tabs_chosen(self, message: PaneTabs.Chosen) -> None:
        """A tab was clicked."""
        self.action_pane(message.number)

    def action_pane(self, number: int) -> None:
        """Goes to a pane."""
        self.enter(number)
        focus_once_drawn(self, self.panes[number - 1])

    def action_next_pane(self, by: int) -> None:
        """Goes to the next or previous pane."""
        here = self.panes.index(self.focused) if self.focused in self.panes else 0
        self.action_pane((here + by) % len(self.panes) + 1)


class Zoom:
    """Gives the whole screen to one pane; a narrow screen shows one of them anyway."""

    def __init__(self, screen: PanedScreen[Any]) -> None:
        self.screen = screen

    @property
    def can_zoom(self) -> bool:
        """Whether the pane with the focus would have more room."""
        return not self.screen.has_class("-narrow")

    @property
    def is_zoomed(self) -> bool:
        """Whether the pane with the focus was given room that others would have."""
        return self.can_zoom and self.screen.grid.has_class("-zoomed")

    @property
    def word(self) -> str:
        """What the key does, in a word; empty where it does nothing."""
        return ("unzoom" if self.is_zoomed else "zoom") if self.can_zoom else ""

    def action_zoom(self) -> None:
        """Gives the whole screen to the pane with the focus, or takes it back."""
        if self.can_zoom:
            self.screen.grid.toggle_class("-zoomed")
            self.screen.update_keys()
        else:
            self.screen.say(ONE_PANE)


def style_of_others(app: App[Any]) -> str:
    """How the titles of panes that are not shown look in that of another."""
    return "not bold $foreground " + ("dim" if app.native_ansi_color else "68%")

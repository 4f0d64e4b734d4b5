"""The panes of a screen as tabs, where only one of them has room."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from tui_eval.tui.look.ink import EMPTY, Line, line_width
from tui_eval.tui.widgets.home_header import GAP, Tab, tab_at, tab_line
from tui_eval.tui.widgets.line_view import LineView


class PaneTabs(LineView, can_focus=False):
    """One line.

    Args:
        gap: Cells between two tabs.
        key: The ink of their numbers; faint where these are no keys.
        ruled: Whether they stand in a rule, as the title of the pane below would.
    """

    class Chosen(Message):
        """Somebody clicked on a tab."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(
        self,
        tabs: Sequence[Tab] = (),
        gap: int = GAP,
        key: str = "key",
        ruled: bool = False,
        *,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self.tabs = tabs
        self.gap = gap
        self.key_ink = key
        self.start: Line = (("─ ", "busy"),) if ruled else EMPTY
        self.current = 1

    def show(self, number: int) -> None:
        """Tells that this pane is shown now."""
        self.current = number
        self.update()

    def count(self) -> int:
        """The tabs."""
        return 1

    def line(self, index: int) -> Line:
        """The tabs."""
        tabs = (*self.start, *tab_line(self.tabs, self.current, self.gap, self.key_ink))
        rest = self.line_width - line_width(tabs) if self.start else 0
        return (*tabs, ("─" * rest, "busy"))

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to the pane under the mouse."""
        if number := tab_at(self.tabs, x - line_width(self.start), self.gap):
            self.post_message(self.Chosen(number))

"""The panes of a comparison as tabs, where only one of them has room."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from tui_eval.tui.look.ink import Line
from tui_eval.tui.widgets.home_header import Tab, tab_at, tab_line
from tui_eval.tui.widgets.line_view import LineView


class PaneTabs(LineView, can_focus=False):
    """One line."""

    class Chosen(Message):
        """Somebody clicked on a tab."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.tabs: Sequence[Tab] = ()
        self.current = 1

    def count(self) -> int:
        """The tabs."""
        return 1

    def line(self, index: int) -> Line:
        """The tabs."""
        return tab_line(self.tabs, self.current)

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to the pane under the mouse."""
        if number := tab_at(self.tabs, x):
            self.post_message(self.Chosen(number))

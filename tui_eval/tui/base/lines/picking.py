"""Lines of which one is chosen."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_eval.tui.base.lines.line_list import LineList


class Picking(LineList):
    """Lines, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Choose", show=False)]

    class Done(Message):
        """The line under the cursor, or all of them as they are, are what is wanted."""

    def on_mount(self) -> None:
        """Takes the height that it needs."""
        self.update()
        self.call_after_refresh(self.show_line, self.cursor)

    def marked(self, index: int) -> bool:
        """The line under the cursor."""
        return index == self.cursor

    def lit(self, index: int) -> bool:
        """The line under the cursor."""
        return index == self.cursor

    def select(self, index: int) -> None:
        """Moves the cursor."""
        self.cursor = min(max(index, 0), self.count() - 1)
        self.show_line(self.cursor)
        self.update()

    def action_move(self, by: int) -> None:
        """Moves the cursor, around the end."""
        self.select((self.cursor + by) % self.count())

    def action_page(self, pages: float) -> None:
        """Moves the cursor by pages."""
        self.select(self.cursor + round(pages * self.view_height))

    def action_choose(self) -> None:
        """Takes what there is."""
        self.post_message(self.Done())

    def clicked(self, index: int) -> None:
        """Chooses a line."""
        self.select(index)
        self.action_choose()

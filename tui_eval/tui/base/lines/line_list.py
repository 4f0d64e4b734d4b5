"""Lines of which one is selected, and the keys that select another."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from tui_eval.tui.base.lines.line_view import LineView


class LineList(LineView):
    """Keys select the line that they go to.

    `cursor` is the selected one; a list that keeps it elsewhere has its own `marked`, `select` and
    `action_move`.
    """

    cursor = 0

    def marked(self, index: int) -> bool:
        return index == self.cursor

    def lit(self, index: int) -> bool:
        return self.marked(index)

    def select(self, index: int) -> None:
        """Selects a line, or the nearest that there is, and shows it."""
        self.cursor = min(max(index, 0), self.count() - 1)
        self.show_line(self.cursor)
        self.update()

    def action_move(self, by: int) -> None:
        self.select(self.cursor + by)

    def action_page(self, pages: float) -> None:
        self.action_move(round(pages * self.view_height))

    def action_top(self) -> None:
        self.select(0)

    def action_bottom(self) -> None:
        self.select(self.count() - 1)


class Picking(LineList):
    """Lines of which one is chosen: the one under the cursor, which goes around the ends."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "choose", "Choose")]

    class Done(Message):
        """The line under the cursor, or all of them as they are, are what is wanted."""

    def on_mount(self) -> None:
        self.call_after_refresh(self.show_line, self.cursor)

    def action_move(self, by: int) -> None:
        """Moves the cursor, around the end."""
        self.select((self.cursor + by) % self.count())

    def action_page(self, pages: float) -> None:
        self.select(self.cursor + round(pages * self.view_height))

    def action_choose(self) -> None:
        """Takes what there is."""
        self.post_message(self.Done())

    def clicked(self, index: int) -> None:
        self.select(index)
        self.action_choose()

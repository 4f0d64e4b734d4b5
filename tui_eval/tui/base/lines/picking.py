"""Lines of which one is chosen."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_eval.tui.base.lines.line_view import LineView


class Picking(LineView):
    """Lines, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Choose", show=False)]

    class Done(Message):
        """The line under the cursor, or all of them as they are, are what is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0

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

    def put_cursor(self, line: int) -> None:
        """Moves the cursor."""
        self.cursor = min(max(line, 0), self.count() - 1)
        self.show_line(self.cursor)
        self.update()

    def action_move(self, by: int) -> None:
        """Moves the cursor, around the end."""
        self.put_cursor((self.cursor + by) % self.count())

    def action_page(self, pages: float) -> None:
        """Moves the cursor by pages."""
        self.put_cursor(self.cursor + round(pages * self.view_height))

    def action_top(self) -> None:
        """To the first line."""
        self.put_cursor(0)

    def action_bottom(self) -> None:
        """To the last line."""
        self.put_cursor(self.count() - 1)

    def action_choose(self) -> None:
        """Takes what there is."""
        self.post_message(self.Done())

    def clicked(self, index: int) -> None:
        """Chooses a line."""
        self.put_cursor(index)
        self.action_choose()

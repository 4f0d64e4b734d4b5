"""Lines of which one is selected, and the keys that select another."""

from __future__ import annotations

from tui_eval.tui.base.lines.line_view import LineView


class LineList(LineView):
    """Keys select the line that they go to.

    `cursor` is the selected one; a list that keeps it elsewhere has an `action_move` of its own.
    """

    cursor = 0

    def select(self, index: int) -> None:
        """Selects a line, or the nearest that there is, and shows it."""
        raise NotImplementedError

    def action_move(self, by: int) -> None:
        """Selects the next or previous line."""
        self.select(self.cursor + by)

    def action_page(self, pages: float) -> None:
        """Selects a line some pages away."""
        self.action_move(round(pages * self.view_height))

    def action_top(self) -> None:
        """Selects the first line."""
        self.select(0)

    def action_bottom(self) -> None:
        """Selects the last line."""
        self.select(self.count() - 1)

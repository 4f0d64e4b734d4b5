"""Views with a cursor on a line, or on a piece of several, and its keys."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from tui_eval.tui.base.lines.line_view import LineView


class LineList(LineView):
    """Lines with a cursor, which keys move.

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
    """A list to choose one line from; its cursor goes around the ends."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "choose", "Choose")]

    class Done(Message):
        """Somebody chose the line under the cursor, or all as they are."""

    def on_mount(self) -> None:
        self.call_after_refresh(self.show_line, self.cursor)

    def action_move(self, by: int) -> None:
        self.select((self.cursor + by) % self.count())

    def action_page(self, pages: float) -> None:
        self.select(self.cursor + round(pages * self.view_height))

    def action_choose(self) -> None:
        self.post_message(self.Done())

    def clicked(self, index: int) -> None:
        self.select(index)
        self.action_choose()


class PieceView(LineView):
    """Lines in pieces; keys select the next one, or scroll within one that does not fit.

    `cursor` is the selected one; a view that knows it by something else has its own `here` and
    `hold`.
    """

    moves_add_up = False
    keeps_cut = False
    """Whether the cursor stays on a piece that begins above the view."""
    cursor = 0

    def pieces(self) -> int:
        """Number of pieces."""
        raise NotImplementedError

    def piece_at(self, line: int) -> int:
        """The piece that a line belongs to; the nearest for a line that is in none."""
        raise NotImplementedError

    def span(self, piece: int) -> tuple[int, int]:
        """First line of a piece and the one after its last."""
        raise NotImplementedError

    def gap(self, piece: int) -> int:
        """Blank lines at the end of a piece, which are not marked and need not be seen."""
        return 0

    @property
    def here(self) -> int:
        """The selected piece."""
        return self.cursor

    def hold(self, piece: int) -> None:
        """Takes another selected piece."""
        self.cursor = piece

    def leave_end(self, by: int) -> None:
        """Takes a move down (1) or up (-1): a view that sticks to its end may stop that."""

    def marked(self, index: int) -> bool:
        if not self.pieces():
            return False
        start, end = self.span(self.here)
        return start <= index < end - self.gap(self.here)

    def select_piece(self, piece: int) -> None:
        """Selects a piece, or the nearest one, and shows as much of it as fits."""
        if self.pieces():
            piece = min(max(piece, 0), self.pieces() - 1)
            self.hold(piece)
            start, end = self.span(piece)
            self.show_line(min(end - 1, start + self.view_height - 1))
            self.show_line(self.span(piece)[0])
        self.update()

    def scroll_lines(self, lines: int) -> None:
        """Scrolls, and takes the cursor along into the view."""
        super().scroll_lines(lines)
        if not self.pieces():
            return
        top = self.scroll_offset.y
        bottom = min(top + self.view_height, self.count()) - 1
        first, last = self.piece_at(top), self.piece_at(max(bottom, 0))
        if not self.keeps_cut and self.span(first)[0] < top and first < last:
            first += 1
        caught = min(max(self.here, first), last)
        if caught != self.here:
            self.hold(caught)
            self.update()

    def action_move(self, by: int) -> None:
        if not self.pieces():
            return
        self.leave_end(by)
        start, end = self.span(self.here)
        end -= self.gap(self.here)
        top, height = self.scroll_offset.y, self.view_height
        if by > 0 and end > top + height:
            self.jump(top + 1)
        elif by < 0 and start < top:
            self.jump(top - 1)
        else:
            self.select_piece(self.here + by)

    def action_top(self) -> None:
        self.put()
        self.select_piece(0)

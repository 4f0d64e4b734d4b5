"""A panel of lines that are made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.geometry import Size

from tui_eval.tui.base.lines.line_view import BESIDE_LINE, LineView
from tui_eval.tui.base.look.ink import Line


class TextPanel(LineView):
    """Shows the lines that `lines_for` makes for its width, in cells."""

    def __init__(
        self, lines_for: Callable[[int], Iterable[Line]], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._lines_for = lines_for

    def show(self, lines_for: Callable[[int], Iterable[Line]]) -> None:
        self._lines_for = lines_for
        self.lay_out()

    def lay_out(self) -> None:
        self._all_lines = list(self._lines_for(self.line_width))
        self.update()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines at this width."""
        return len(list(self._lines_for(max(width - BESIDE_LINE, 1))))

    def on_resize(self) -> None:
        self.lay_out()  # and `LineView.on_resize` is called by Textual


class PlainPanel(TextPanel, can_focus=False):
    """Lines without focus; a click on a key that they name presses it."""

    def clicked_at(self, x: int, index: int) -> None:
        self.press_key_at(self.line(index), x)

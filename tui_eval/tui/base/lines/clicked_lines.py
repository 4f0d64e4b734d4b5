"""Lines that the mouse presses: which of them was meant."""

from __future__ import annotations

from typing import NamedTuple

from textual import events
from textual.geometry import Offset
from textual.scroll_view import ScrollView

from tui_eval.tui.base.keys.clicked_keys import key_in_line
from tui_eval.tui.base.look.ink import Line


class Pressed(NamedTuple):
    """Where a button of the mouse was pressed.

    Args:
        y: On the screen.
        offset: Within the view.
        line: Which one stood there.
    """

    y: int
    offset: Offset
    line: int


class ClickedLines(ScrollView):
    """As many fixed lines as `heads` says, those that are scrolled, and those of the foot.

    A `pill` that is not empty stands at the end of the last one.
    """

    heads = 0
    pill = ""
    _pressed: Pressed | None = None

    def count(self) -> int:
        """Lines that there are, the fixed ones left out."""
        raise NotImplementedError

    def foot(self) -> tuple[Line, ...]:
        """The last lines of the view, whatever is scrolled; none by default."""
        return ()

    def clicked(self, index: int) -> None:
        """A line was clicked."""

    def clicked_at(self, x: int, index: int) -> None:
        """A line was clicked, so many cells from its first."""
        self.clicked(index)

    def head_clicked(self, x: int, index: int) -> None:
        """A fixed line was clicked, so many cells from its first."""

    def press_key_at(self, line: Line, x: int) -> bool:
        """Presses the key that a line tells at a cell, if it tells one there."""
        key = key_in_line(line, x)
        if key:
            self.app.simulate_key(key)
        return bool(key)

    def pill_clicked(self) -> None:
        """The pill that counts what is new was clicked."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remembers what is under the mouse: it may move before the button is let go."""
        offset = event.get_content_offset(self)
        if offset is not None:
            line = self.scroll_offset.y + offset.y - self.heads
            self._pressed = Pressed(event.screen_y, offset, line)

    def on_click(self, event: events.Click) -> None:
        """Tells what was clicked; who lets go of the button on another line wants nothing."""
        pressed, self._pressed = self._pressed, None
        if pressed is None or pressed.y != event.screen_y:
            return
        x, y = pressed.offset
        if y < self.heads:
            self.head_clicked(x - 1, y)
        elif self.pill and y == self.size.height - 1 and x >= self.size.width - len(self.pill) - 4:
            self.pill_clicked()
        elif y < self.size.height - len(self.foot()) and pressed.line < self.count():
            self.clicked_at(x - 1, pressed.line)

"""Lines under the mouse: clicks, and text selected by dragging, to be copied."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_eval.text.key_names import key_of
from tui_eval.tui.base.look.ink import Line

SELECTED = Style(reverse=True)
LEAST = 3
"""Cells that a mouse must be dragged to select: a click may move it by less."""


class Pressed(NamedTuple):
    """The cell of a mouse press, and the line there."""

    screen_y: int
    offset: Offset
    line: int


class Place(NamedTuple):
    """A cell of a view: the line, whatever is scrolled, and the cell of it."""

    line: int
    x: int


class MouseLines(ScrollView):
    """`heads` fixed lines, scrolled lines, and those of the foot, with the mouse.

    A `pill` that is not empty is at the end of the last one. The dragged text is copied when the
    button is released, and shown until then: a terminal's own selection takes whole lines
    of the screen, through all panes beside each other.
    """

    @dataclass
    class Dragged(Message):
        """A text was selected by dragging the mouse over it."""

        text: str

    heads = 0
    pill = ""
    _pressed: Pressed | None = None
    _drag_start: Place | None = None
    _drag_end: Place | None = None

    if TYPE_CHECKING:  # what `LineView` has

        def count(self) -> int: ...
        def update(self) -> None: ...
        def put(self) -> None: ...
        def strip_to_copy(self, index: int) -> Strip: ...
        def action_bottom(self) -> None: ...  # to what is new where the pill counts that

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
        """Presses the key that a line shows at a cell, if any."""
        key = key_in_line(line, x)
        if key:
            self.app.simulate_key(key)
        return bool(key)

    def selected_cells(self, index: int) -> tuple[int, int] | None:
        """The selected cells of a line, from and to."""
        if self._drag_start is None or self._drag_end is None:
            return None
        first, last = sorted((self._drag_start, self._drag_end))
        if not first.line <= index <= last.line:
            return None
        start = first.x if index == first.line else 1  # behind the cell of the mark
        end = last.x + 1 if index == last.line else self.size.width
        return start, end

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remembers the line under the mouse: it may move before the button is released."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = self.scroll_offset.y + offset.y - self.heads
        self._pressed = Pressed(event.screen_y, offset, line)
        if self.heads <= offset.y and event.button == 1 and line < self.count():
            self._end_drag()  # one that ended elsewhere
            self._drag_start = Place(line, offset.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Selects up to the mouse, while its button is held."""
        if self._drag_start is None:
            return
        if event.button != 1:
            self._end_drag()
            return
        content = self.scrollable_content_region
        x = event.screen_x - content.x
        y = min(max(event.screen_y - content.y, self.heads), content.height - 1)
        line = min(self.scroll_offset.y + y - self.heads, self.count() - 1)
        place = Place(line, min(max(int(x), 0), content.width - 1))
        if self._drag_end is None:
            if line == self._drag_start.line and abs(place.x - self._drag_start.x) < LEAST:
                return
            self._pressed = None  # it is no click any more
            self.capture_mouse()
            self.put()
        self._drag_end = place
        self.update()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag_start is not None and self._drag_end is not None:
            text = self._selected_text()
            self._end_drag()
            if text.strip():
                self.post_message(self.Dragged(text))
        self._drag_start = None

    def _end_drag(self) -> None:
        if self._drag_end is not None:
            self.release_mouse()
        self._drag_start = self._drag_end = None
        self.update()

    def _selected_text(self) -> str:
        assert self._drag_start is not None and self._drag_end is not None
        first, last = sorted((self._drag_start.line, self._drag_end.line))
        lines = []
        for index in range(first, min(last + 1, self.count())):
            cells = self.selected_cells(index)
            assert cells is not None
            lines.append(self.strip_to_copy(index).crop(*cells).text.rstrip())
        return "\n".join(lines)

    def on_click(self, event: events.Click) -> None:
        """Reports what was clicked; releasing on another line is no click."""
        pressed, self._pressed = self._pressed, None
        if pressed is None or pressed.screen_y != event.screen_y:
            return
        x, y = pressed.offset
        if y < self.heads:
            self.head_clicked(x - 1, y)
        elif self.pill and y == self.size.height - 1 and x >= self.size.width - len(self.pill) - 4:
            self.action_bottom()
        elif y < self.size.height - len(self.foot()) and pressed.line < self.count():
            self.clicked_at(x - 1, pressed.line)


def with_selection(strip: Strip, cells: tuple[int, int]) -> Strip:
    """A strip of which some cells are selected."""
    start, end = cells[0], min(cells[1], strip.cell_length)
    if start >= end:
        return strip
    parts = (strip.crop(0, start), strip.crop(start, end).apply_style(SELECTED), strip.crop(end))
    return Strip.join(parts)


def key_in_line(line: Line, x: int, action_inks: Collection[str] = ("", "faint")) -> str:
    """The key at a cell of a line with keys in their own ink; empty for none.

    Args:
        action_inks: The inks of the words behind a key, which say what it does.
    """
    key, start = "", 0
    for text, ink in line:
        if ink == "key":
            key = text.strip()
        elif ink not in action_inks:
            key = ""
        end = start + cell_len(text)
        if x < end:
            spaces = cell_len(text) - cell_len(text.lstrip())
            is_before = ink == "key" and x < start + spaces
            return _named(key) if key and not is_before else ""
        start = end
    return ""


def _named(sign: str) -> str:
    try:
        return key_of(sign)
    except ValueError:  # it is no key that is in this ink
        return ""

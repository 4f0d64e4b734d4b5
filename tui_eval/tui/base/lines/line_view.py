"""The base of every pane: draws the lines that can be seen, and only those that changed.

For one changed cell a table widget takes 33 ms at 1,000 rows, and longer with each further row;
drawing the lines that are in sight takes about 1 ms at any size. A pane says how many lines there
are, what each looks like and a key that changes with it; a line whose key is as before is not made
again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.style import Style
from textual import events, on
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.lines.mouse_lines import MouseLines, with_selection
from tui_eval.tui.base.look.ink import EMPTY, INKS, Line, line_width, strip_of

NO_STYLE = Style()
_STYLES: LRUCache[tuple[str, Style, str], Style] = LRUCache(4096)
"""Styles by theme, plain style around them, and name of the ink."""
LIT_INKS = {"faint": "muted", "comment": "muted", "thought": "muted", "rule": "faint"}
MARK = "▌"
BESIDE_LINE = 2
"""Cells that no line has: one for the mark, and one free before the edge."""
KEPT = 256
"""Strips in the cache: each is some forty objects for every garbage collection."""
ALL_SHOWN = "All of it is shown."
"""The message where there is nothing to unfold."""
NOT_FOLDED = "There is nothing here that folds."
NO_SEARCH = "Nothing is searched for: {} begins."


class Frame(NamedTuple):
    """Values that all lines of one drawing share: Textual derives each at every access."""

    width: int
    top: int
    height: int
    lines: int
    focused: bool
    foot: tuple[Line, ...]


class _InkNode(DOMNode):
    """A node that is styled as if it stood in a widget."""

    def __init__(self, within: Widget, name: str) -> None:
        super().__init__(classes=name)
        self._within = within

    @property
    def css_path_nodes(self) -> list[DOMNode]:
        return [*self._within.css_path_nodes, self]

    @property
    def ancestors_with_self(self) -> list[DOMNode]:
        return [self, *self._within.ancestors_with_self]


class LineView(MouseLines, can_focus=True):
    """Lines drawn on demand, below as many fixed ones as `heads` says.

    A subclass says how many lines there are (`count`) and what each holds (`line`), or keeps them
    in `_all_lines`, and calls `update` when that may have changed. Strips are cached by `key`: a
    value that determines all that the line shows, never an identity. `built` counts the strips that
    were made and `requested` the lines that Textual requested.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("view")
    moves_add_up: ClassVar[bool] = True
    """Whether `action_move` by 3 is the same as three moves by 1."""
    ALLOW_SELECT = False

    class ScrolledBack(Message):
        """Somebody moved away from the end: the view must stop following."""

    class Retitled(Message):
        """Title, footer and others may have to say something else of the view."""

    @dataclass
    class Missed(Message):
        """A key found nothing to go to or to show; `text` says what is missing."""

        text: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._all_lines: Sequence[Line] = ()
        self._strips: LRUCache[Hashable, Strip] = LRUCache(KEPT)
        self._shown: dict[int, Hashable] = {}
        self._line_wanted: tuple[int, int] | None = None
        self._line_shown = (0, 0)
        self._layout_size = Size(0, 0)
        self._lines_seen = range(0)
        self._frame: Frame | None = None
        self._inks: dict[str, Style] = {}
        self.built = 0
        self.requested = 0

    def count(self) -> int:
        """The number of lines, without the fixed ones."""
        return len(self._all_lines)

    def line(self, index: int) -> Line:
        """A line, without its first cell, which marks the selection."""
        return self._all_lines[index]

    def key(self, index: int) -> Hashable:
        """A value that determines `line(index)` at this width; cheaper than the line itself."""
        return self.line(index)

    def head(self, index: int) -> Line:
        """A fixed line at the top."""
        return EMPTY

    def marked(self, index: int) -> bool:
        """Whether the line belongs to the selection."""
        return False

    def lit(self, index: int) -> bool:
        """Whether the line has the background of the cursor."""
        return False

    @property
    def line_width(self) -> int:
        """Cells that a line can use."""
        return max(self.scrollable_content_region.width - BESIDE_LINE, 1)

    @property
    def view_height(self) -> int:
        """Lines that can be seen at once, the fixed ones left out."""
        return self._view_height(self.foot())

    def _view_height(self, foot: tuple[Line, ...]) -> int:
        return max(self.scrollable_content_region.height - self.heads - len(foot), 1)

    @property
    def at_end(self) -> bool:
        """Whether the last line can be seen."""
        return self.scroll_offset.y >= self.max_scroll_y

    def update(self) -> None:
        """Redraws the visible lines whose content has changed."""
        self.fit()
        width, frame = self.size.width, self._frame_now()
        for y in range(frame.height):
            if self._shown.get(y) != self._key_at(y, frame):
                self.refresh(Region(0, y, width, 1))

    def fit(self) -> None:
        """Sets the height to scroll; a new layout only where the bar comes or goes."""
        size = Size(0, self.count() + self.heads + len(self.foot()))
        if size == self.virtual_size:
            return
        if not self.show_vertical_scrollbar or size.height <= self.container_size.height:
            self.virtual_size = size
            return
        self.set_reactive(Widget.virtual_size, size)
        self.vertical_scrollbar.window_virtual_size = size.height
        if self.scroll_y > self.max_scroll_y:
            self.jump(self.max_scroll_y)

    def _frame_now(self) -> Frame:
        top, height, foot = self.scroll_offset.y, self.size.height, self.foot()
        return Frame(self.line_width, top, height, self.count(), self.has_focus, foot)

    def _key_at(self, y: int, frame: Frame) -> Hashable:
        pill = self.pill if y == frame.height - 1 else ""
        if (fixed := self._fixed(y, frame)) is not None:
            return ("fixed", frame.width, fixed, pill)
        index = frame.top + y - self.heads
        if index >= frame.lines:
            return ("blank", frame.width, pill)
        marks = (self.marked(index), self.lit(index), frame.focused)
        selected = self.selected_cells(index)
        return (frame.width, marks if any(marks[:2]) else None, self.key(index), pill, selected)

    def _fixed(self, y: int, frame: Frame) -> Line | None:
        """A line of the head or the foot, whatever is scrolled."""
        if y < self.heads:
            return self.head(y)
        return frame.foot[y - frame.height] if y >= frame.height - len(frame.foot) else None

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of a region, all of one frame."""
        frame = self._frame = self._frame_now()
        if self.size == self._layout_size:
            self._lines_seen = range(frame.top, frame.top + self._view_height(frame.foot))
        try:
            return super().render_lines(crop)
        finally:
            self._frame = None

    def render_line(self, y: int) -> Strip:
        self.requested += 1
        frame = self._frame or self._frame_now()
        key = self._shown[y] = self._key_at(y, frame)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._build(y, frame)
            self.built += 1
        return strip

    def _build(self, y: int, frame: Frame) -> Strip:
        index, width = frame.top + y - self.heads, frame.width + 2
        line, ground, ink = EMPTY, NO_STYLE, self.ink
        fixed = self._fixed(y, frame)
        if fixed is not None:
            line = ((" ", ""), *fixed)
        elif index < frame.lines:
            if self.lit(index):
                ground = self._ground("cursor" if frame.focused else "cursor-blurred")
                ink = self._lit_ink
            mark = MARK if self.marked(index) and not ground.reverse else " "
            line = ((mark, "busy" if frame.focused else "faint"), *self.line(index))
        plain = self.ink("")
        strip = strip_of(line, width, (lambda _: plain) if ground.reverse else ink, ground)
        if fixed is None and (selected := self.selected_cells(index)) is not None:
            strip = with_selection(strip, selected)
        if self.pill and y == frame.height - 1:
            pill = ((f" {self.pill} ", "pill"),)
            kept = max(width - line_width(pill) - 1, 0)
            end = strip_of((*pill, (" ", "")), width - kept, self.ink, NO_STYLE)
            strip = Strip.join([strip.crop(0, kept), end])
        return strip

    def strip_to_copy(self, index: int) -> Strip:
        return strip_of(((" ", ""), *self.line(index)), self.line_width + 2, self.ink, NO_STYLE)

    def ink(self, name: str) -> Style:
        """The style of an ink in this widget.

        As a component class it would be worked out again for every view whenever a class or the
        focus changes anywhere: that took most of the time of such a key.
        """
        style = self._inks.get(name)
        if style is None:
            plain = self.rich_style
            place = (self.app.theme, plain, name)
            if place not in _STYLES:
                _STYLES[place] = self._styled(name) if name else plain
            style = self._inks[name] = _STYLES[place]
        return style

    def _lit_ink(self, name: str) -> Style:
        """An ink under the cursor; faint ones stand out too little there."""
        return self.ink(LIT_INKS.get(name, name))

    def _styled(self, name: str) -> Style:
        assert name in INKS, f"there is no ink {name!r}"
        drop = _InkNode(self, f"ink--{name}")
        self.app.stylesheet.apply(drop)
        return drop.rich_style

    def _ground(self, name: str) -> Style:
        style = self.ink(name)
        return Style(bgcolor=style.bgcolor, reverse=style.reverse, bold=style.bold)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._inks.clear()
        self._strips.clear()
        self._shown.clear()

    def on_resize(self) -> None:
        """Makes the lines for the new width; a visible selection stays visible."""
        self._shown.clear()
        self.update()
        self._layout_size = self.size
        if self._line_wanted is not None:
            self.call_after_refresh(self._show_wanted)
        elif self._line_shown[0] in self._lines_seen:
            self.call_after_refresh(self._show_selected)

    def _show_selected(self) -> None:
        line, margin = self._line_shown
        if line < self.count() and self.marked(line):
            self.show_line(line, margin)

    def jump(self, y: int) -> None:
        """Shows this line first, or as near to it as there are lines."""
        self.scroll_to(y=y, animate=False, force=True)

    def show_line(self, index: int, margin: int = 0) -> None:
        """Scrolls as little as possible so that a line can be seen with some around it.

        A view without any height yet does so once it has one.
        """
        self._line_shown = index, margin
        self._line_wanted = (index, margin) if not self.scrollable_content_region.height else None
        if self._line_wanted is not None:
            return
        top, height = self.scroll_offset.y, self.view_height
        margin = min(margin, (height - 1) // 2)
        if index - margin < top:
            self.jump(max(index - margin, 0))
        elif index + margin >= top + height:
            self.jump(index + margin - height + 1)

    def _show_wanted(self) -> None:
        if self._line_wanted is not None:
            self.show_line(*self._line_wanted)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Moves a new bar to where the view was scrolled without it."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Notices when the bar is dragged."""
        if self.show_vertical_scrollbar:
            self._move_bar(new_value)
        super().watch_scroll_y(old_value, new_value)
        if self.is_vertical_scrollbar_grabbed:
            self.put()

    def _move_bar(self, y: float) -> None:
        """Moves the bar; draws it only where it looks different, as that takes as long as
        the lines do."""
        bar = self.vertical_scrollbar
        lines, height = bar.window_virtual_size, bar.size.height
        room = height - max(bar.window_size * height / max(lines, 1), 1)
        step = 8 * room / max(lines - bar.window_size, 1)
        if int(step * y) == int(step * bar.position):
            bar.set_reactive(ScrollBar.position, y)

    def put(self) -> None:
        """Takes note that somebody placed the view: it stops following."""
        self.post_message(self.ScrolledBack())

    def scroll_lines(self, lines: int) -> None:
        """Scrolls by so many lines, at somebody's wish."""
        self.put()
        self.jump(self.scroll_offset.y + lines)

    def action_move(self, by: int) -> None:
        self.scroll_lines(by)

    def action_page(self, pages: float) -> None:
        self.scroll_lines(round(pages * self.view_height))

    def action_top(self) -> None:
        self.scroll_lines(-self.scroll_offset.y)

    def action_bottom(self) -> None:
        self.jump(self.max_scroll_y)

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def scroll_by_wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        event.prevent_default()
        self.scroll_lines(3 if isinstance(event, events.MouseScrollDown) else -3)

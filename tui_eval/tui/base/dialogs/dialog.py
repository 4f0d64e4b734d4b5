"""Dialogs over a screen, which is dimmed behind them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Generic, TypeVar

from rich.cells import cell_len
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.color import Color
from textual.content import Content
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.widget import Widget

from tui_eval.printable import printable
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY

Result = TypeVar("Result")
Box = TypeVar("Box", bound=Widget)
FRAME = 3
"""Cells of a border before its title, and behind its subtitle."""
NAMED_KEYS = {"enter": "enter", "esc": "escape", "space": "space", "tab": "tab"}
"""Keys by their names in hints; a character is its own name."""
DIM = Style(color="default", bgcolor="default", dim=True)


class DimmedScreen(BackgroundScreen):
    """A screen without its colours, none of its lines under a cursor."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        """The same text, dim; without the bars, of which only pieces would be left."""
        for segment in segments:
            is_bar = segment.style is not None and "@mouse.down" in segment.style.meta
            text = " " * segment.cell_length if is_bar else segment.text
            yield segment if segment.control else Segment(text, DIM)


class Overlay(ModalScreen[Result]):
    """A screen over others; a second `dismiss` closes no other one."""

    def render(self) -> RenderableType:
        """The dimmed screen behind; without the terminal's own colours, which cannot be tinted."""
        behind = super().render()
        if isinstance(behind, BackgroundScreen) and not behind.color.a:
            return DimmedScreen(behind.screen, behind.color)
        return behind

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Closes it once: it may have been clicked twice."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


def _hints_at(widget: Widget, x: int, y: int) -> tuple[str, int]:
    """The text with key hints in this line of a box, and the cell of it at x."""
    if y == widget.region.y:
        title, dot, hint = str(widget.border_title or "").rpartition(" · ")
        named = hint if hint.partition(" ")[0] in NAMED_KEYS else ""
        return named, x - widget.region.x - FRAME - cell_len(title + dot)
    if y == widget.region.bottom - 1:
        hints = str(widget.border_subtitle or "")
        return hints, x - (widget.region.right - FRAME - cell_len(hints))
    if isinstance(widget, LineView):
        index = y - widget.content_region.y - widget.heads + widget.scroll_offset.y
        line = widget.line(index) if 0 <= index < widget.count() else EMPTY
        if line and line[-1][1] == "faint":
            return "".join(text for text, _ in line), x - widget.content_region.x - 1
    return "", 0


def key_in_hints(hints: str, x: int) -> str:
    """The key at a cell of hints: `enter writes · esc closes`, `J K move`; empty for none."""
    start = 0
    for hint in hints.split(" · "):
        if start <= x < start + cell_len(hint):
            words = [word.strip(":,") for word in hint.split(" ")]
            keys = [*takewhile(lambda name: name in NAMED_KEYS or len(name) == 1, words)]
            at = hint[: x - start].count(" ")
            name = keys[at if at < len(keys) else 0] if keys else ""
            return NAMED_KEYS.get(name, name if name.isascii() else "")
        start += cell_len(hint) + 3
    return ""


class Dialog(Overlay[Result], Generic[Box, Result]):
    """A box in the middle; a click on a key in its hints presses that key."""

    closes_beside = False
    """Whether a click beside the box closes it."""
    _pressed_at = -1

    def __init__(self, box: Box, title: str = "", keys: str = "") -> None:
        super().__init__()
        self.box = box
        if title:
            box.border_title = Content(printable(title))
        if keys:
            box.border_subtitle = Content(keys)

    def compose(self) -> ComposeResult:
        yield self.box

    def on_mount(self) -> None:
        """Gives the box the height that it needs."""
        if isinstance(self.box, LineView):
            self.box.fit()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remembers the line: releasing on another one is no click."""
        self._pressed_at = event.screen_y

    def on_click(self, event: events.Click) -> None:
        """Presses the key shown there, once for a double click."""
        if event.widget is self and self.closes_beside:
            self.dismiss()
        if event.widget is None or event.widget is self or event.chain > 1:
            return
        if event.screen_y == self._pressed_at:
            key = key_in_hints(*_hints_at(event.widget, event.screen_x, event.screen_y))
            if key:  # an event that a screen posts to itself goes no further than to its box
                self.app.call_later(self._press, key)

    def _press(self, key: str) -> None:
        if self.is_current:
            self.app.simulate_key(key)

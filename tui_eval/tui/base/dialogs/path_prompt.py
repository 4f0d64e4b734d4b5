"""A path that somebody types."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui_eval.printable import printable
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line
from tui_eval.tui.base.look.wrap import wrap

ABOUT_MOST = 3


class PathLine(LineView):
    """A line to type on, and what it is for."""

    def __init__(self, path: str, about: str, does: str) -> None:
        super().__init__()
        self._hint = f"enter {does} · esc closes"
        self.typed = TextLine()
        self.typed.put(path)
        self._about = about

    def on_mount(self) -> None:
        """Takes the height that it needs."""
        self.update()

    def count(self) -> int:
        """The path, a blank line, what it is for, what the keys do."""
        return 3 + len(self._about_lines)

    def line(self, index: int) -> Line:
        """The path with its caret, or a word on it."""
        if index == 0:
            return tuple(self.typed.spans(self.line_width))
        about: list[Line] = [((line, "muted"),) for line in self._about_lines]
        return (EMPTY, *about, ((self._hint, "faint"),))[index - 1]

    @property
    def _about_lines(self) -> list[str]:
        return wrap(self._about, self.line_width, ABOUT_MOST)[0]

    def clicked_at(self, x: int, index: int) -> None:
        """Puts the caret there."""
        if index == 0:
            self.typed.click(x, self.line_width)
            self.update()

    def on_key(self, event: events.Key) -> None:
        """Types."""
        if type_into(self.typed, event):
            event.stop()
            event.prevent_default()
            self.update()

    def on_paste(self, event: events.Paste) -> None:
        """Takes what is pasted."""
        event.stop()
        self.typed.insert(event.text)
        self.update()


class PathPrompt(Dialog[str | None]):
    """Comes back with the path, or None.

    Args:
        path: What stands there at first.
        about: What happens there, as a sentence.
        does: What enter does, in a word or two.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Leave it", show=False),
        Binding("enter", "take", "Take it", show=False),
    ]

    def __init__(self, title: str, path: str, about: str, does: str) -> None:
        super().__init__()
        self._box = PathLine(path, about, does)
        self._box.border_title = Content(printable(title))

    def compose(self) -> ComposeResult:
        """The box."""
        yield self._box

    def action_take(self) -> None:
        """Comes back with what stands there."""
        path = self._box.typed.text.strip()
        self.dismiss(path or None)

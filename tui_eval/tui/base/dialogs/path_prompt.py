"""Lines that somebody types: a path, or others with their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.binding import BindingType

from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line, left
from tui_eval.tui.base.look.wrap import wrap

ABOUT_MOST = 3
GAP = 2
"""Cells behind the longest name."""
STEPS = {"tab": 1, "down": 1, "shift+tab": -1, "up": -1}
"""Keys that go to another line."""


class TypedLines(LineView):
    """Lines to type on; below them what they are for, and what the keys do.

    Args:
        texts: What stands there at first, by the names before the lines.
        hint: What the keys do.
        about: What they are for, as a sentence.
    """

    def __init__(self, texts: Mapping[str, str], hint: str, about: str = "") -> None:
        super().__init__()
        self.names = [*texts]
        self.fields = [TextLine(text, len(text)) for text in texts.values()]
        self.at = 0
        self._name_width = max(len(name) + GAP if name else 0 for name in texts)
        self._hint, self._about = hint, about

    @property
    def typed(self) -> TextLine:
        """The line that is typed on."""
        return self.fields[self.at]

    @property
    def _lines_below(self) -> list[Line]:
        about = wrap(self._about, self.line_width, ABOUT_MOST)[0] if self._about else []
        return [EMPTY, *(((line, "muted"),) for line in about), ((self._hint, "faint"),)]

    @property
    def _room(self) -> int:
        return self.line_width - self._name_width

    def count(self) -> int:
        return len(self.fields) + len(self._lines_below)

    def line(self, index: int) -> Line:
        if index >= len(self.fields):
            return self._lines_below[index - len(self.fields)]
        is_here, text = index == self.at, self.fields[index].text
        name = (left(self.names[index], self._name_width), "key" if is_here else "muted")
        return (name, *(self.typed.spans(self._room) if is_here else ((text[: self._room], ""),)))

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to a line; puts the caret into the one that is typed on."""
        if index < len(self.fields):
            if index == self.at:
                self.typed.click(x - self._name_width, self._room)
            self.at = index
            self.update()

    def on_key(self, event: events.Key) -> None:
        if len(self.fields) > 1 and event.key in STEPS:
            self.at = (self.at + STEPS[event.key]) % len(self.fields)
        elif not type_into(self.typed, event):
            return
        event.stop()
        event.prevent_default()
        self.update()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.typed.insert(event.text)
        self.update()


class PathPrompt(Dialog[TypedLines, str]):
    """Comes back with the path, or None.

    Args:
        about: What happens there, as a sentence.
        does: What enter does, in a word or two.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss", "Leave it"),
        ("enter", "take", "Take it"),
    ]

    def __init__(self, title: str, path: str, about: str, does: str) -> None:
        lines = TypedLines({"": path}, f"enter {does} · esc closes", about)
        super().__init__(lines, title)

    def action_take(self) -> None:
        self.dismiss(self.box.typed.text.strip() or None)

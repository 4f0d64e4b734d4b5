"""The keys and the signs, read from the tables that make them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from tui_eval.tui.commands import COMMANDS, GROUPS
from tui_eval.tui.ink import EMPTY, Line, left
from tui_eval.tui.stages import LOOKS, MEANINGS
from tui_eval.tui.widgets.line_view import LineView

KEYS = 12


def help_lines() -> Iterator[Line]:
    """Every command by group, then what the stages' signs mean."""
    for group in GROUPS:
        yield ((group, "role"),)
        for command in COMMANDS:
            if command.group == group and command.shown:
                yield ((f"  {left(command.shown, KEYS)}", "key"), (command.help, ""))
        yield EMPTY
    yield (("Stages", "role"),)
    for look, meaning in zip(LOOKS, MEANINGS, strict=True):
        yield (
            (f"  {look.glyph} ", look.ink),
            (left(look.word, KEYS - 2), look.ink),
            (meaning, "muted"),
        )


class HelpLines(LineView):
    """The text of the help."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = list(help_lines())

    def on_mount(self) -> None:
        """Takes the height that it needs."""
        self.update()

    def count(self) -> int:
        """Lines of the help."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """One line of the help."""
        return self._lines[index]


class Help(ModalScreen[None]):
    """Closed by the keys that opened it, and by those that close things."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", show=False)
    ]

    def compose(self) -> ComposeResult:
        """The box."""
        box = HelpLines()
        box.border_title = Content("Keys and signs · esc closes")
        yield box

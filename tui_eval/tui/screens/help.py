"""The keys and the signs, read from the tables that make them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from tui_eval.tui.commands import COMMANDS, GROUPS
from tui_eval.tui.ink import EMPTY, Line, left, line_width
from tui_eval.tui.stages import LOOKS, MEANINGS
from tui_eval.tui.widgets.line_view import LineView

KEYS = 12
GAP = 3
"""Cells between the keys and the signs where they stand beside each other."""


def key_lines() -> Iterator[Line]:
    """Every command by group."""
    for group in GROUPS:
        yield ((group, "role"),)
        for command in COMMANDS:
            if command.group == group and command.shown:
                yield ((f"  {left(command.shown, KEYS)}", "key"), (command.help, ""))
        if group != GROUPS[-1]:
            yield EMPTY


def sign_lines() -> Iterator[Line]:
    """What the signs of the stages mean."""
    yield (("Stages", "role"),)
    for look, meaning in zip(LOOKS, MEANINGS, strict=True):
        yield (
            (f"  {look.glyph} ", look.ink),
            (left(look.word, KEYS - 2), look.ink),
            (meaning, "muted"),
        )


def help_lines(width: int) -> list[Line]:
    """Keys and signs, beside each other where there is room."""
    keys, signs = list(key_lines()), list(sign_lines())
    beside = max(map(line_width, keys)) + GAP
    if width < beside + max(map(line_width, signs)):
        return [*keys, EMPTY, *signs]
    return [
        (*line, (" " * (beside - line_width(line)), ""), *sign) if sign else line
        for line, sign in zip_longest(keys, signs, fillvalue=EMPTY)
    ]


class HelpLines(LineView):
    """The text of the help."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = help_lines(0)

    def update(self) -> None:
        """Lays the help out for the width."""
        self._lines = help_lines(self.line_width)
        super().update()

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

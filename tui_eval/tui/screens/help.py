"""The keys and the signs, read from the tables that make them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from tui_eval.tui.commands import APART, COMMANDS
from tui_eval.tui.commands.form import FORM
from tui_eval.tui.commands.keymap import Keymap, keymap_of
from tui_eval.tui.ink import EMPTY, Line, left, line_width
from tui_eval.tui.stages import LOOKS, MEANINGS
from tui_eval.tui.widgets.line_view import LineView

KEYS = 12
GAP = 3
"""Cells between two columns."""


def key_lines(
    groups: Sequence[str], keymap: Keymap, scopes: Collection[str] = ()
) -> Iterator[Line]:
    """Every command of these groups; of these scopes only, else of those of a run."""
    told = [
        (command, keymap.shown(command))
        for command in COMMANDS
        if command.group in groups
        and (command.scope in scopes if scopes else command.scope not in APART)
    ]
    width = max(KEYS, *(cell_len(keys) + 1 for _, keys in told))
    for group in groups:
        yield ((group, "role"),)
        for command, keys in told:
            if command.group == group:
                yield ((f"  {left(keys, width)}", "key"), (command.help, ""))
        if group != groups[-1]:
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


def help_lines(
    groups: Sequence[str], width: int, keymap: Keymap, scopes: Collection[str] = ()
) -> list[Line]:
    """Keys and signs, in two columns where there is room; no signs for some scopes only."""
    lines = list(key_lines(groups, keymap, scopes))
    if not scopes and FORM not in groups:
        lines += [EMPTY, *sign_lines()]
    ends = [at for at, line in enumerate(lines) if not line]
    middle = min(ends, key=lambda at: abs(at - len(lines) // 2), default=len(lines))
    start, end = lines[:middle], lines[middle + 1 :]
    beside = max(map(line_width, start)) + GAP
    if not end or width < beside + max(map(line_width, end)):
        return lines
    return [
        (*one, (" " * (beside - line_width(one)), ""), *other) if other else one
        for one, other in zip_longest(start, end, fillvalue=EMPTY)
    ]


class HelpLines(LineView):
    """The text of the help."""

    def __init__(self, groups: Sequence[str], scopes: Collection[str] = ()) -> None:
        super().__init__()
        self._groups = groups
        self._scopes = scopes
        self._lines: list[Line] = []

    def update(self) -> None:
        """Lays the help out for the width."""
        self._lines = help_lines(self._groups, self.line_width, keymap_of(self.app), self._scopes)
        super().update()

    def count(self) -> int:
        """Lines of the help."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """One line of the help."""
        return self._lines[index]


class Help(ModalScreen[None]):
    """Closed by the keys that opened it, and by those that close things.

    Args:
        groups: Of commands, in their order.
        scopes: Where they work; empty for those of a run, with the signs of its stages.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", show=False)
    ]

    def __init__(self, groups: Sequence[str], scopes: Collection[str] = ()) -> None:
        super().__init__()
        self._groups = groups
        self._scopes = scopes

    def compose(self) -> ComposeResult:
        """The box."""
        box = HelpLines(self._groups, self._scopes)
        has_signs = not self._scopes and FORM not in self._groups
        what = "Keys and signs" if has_signs else "Keys"
        box.border_title = Content(f"{what} · esc closes")
        yield box

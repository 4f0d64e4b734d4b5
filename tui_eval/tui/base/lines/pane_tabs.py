"""The panes of a screen as tabs, where only one of them has room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.message import Message
from textual.strip import Strip

from tui_eval.tui.base.lines.line_view import NO_STYLE, Frame, LineView
from tui_eval.tui.base.look.ink import Line, line_width, strip_of

START = "─ "
"""Of a rule with tabs."""
GAP, RULED_GAP = 5, 2
"""Cells between two tabs."""


class Tab(NamedTuple):
    """A pane by its name, and how many things are in it; -1 while nobody knows."""

    name: str
    holds: int


class PaneTabs(LineView, can_focus=False):
    """One line.

    Args:
        ruled: Whether they stand in a rule, as the title of the pane below would.
    """

    @dataclass
    class Chosen(Message):
        """Somebody clicked on a tab."""

        number: int

    def __init__(self, tabs: Sequence[Tab] = (), *, ruled: bool = False, id: str) -> None:
        super().__init__(id=id)
        self.tabs = tabs
        self.key_ink = "key"
        """Of their numbers; faint where these are no keys."""
        self.ruled = ruled
        self.current = 1

    def show(self, number: int) -> None:
        """Tells that this pane is shown now."""
        self.current = number
        self.update()

    def _tab(self, at: int) -> Line:
        """A tab; the one that is shown looks as the title of a pane with the focus."""
        name, holds = self.tabs[at]
        count = f" {holds:,}" if holds >= 0 else ""
        ink = "key" if at + 1 == self.current else "muted"
        return (
            (f"{at + 1} ", self.key_ink),
            (f"{name}{count}", ink),
            (" " * (RULED_GAP if self.ruled else GAP), ""),
        )

    def count(self) -> int:
        return 1

    def line(self, index: int) -> Line:
        tabs = tuple(span for at in range(len(self.tabs)) for span in self._tab(at))
        if not self.ruled:
            return tabs
        rest = self.size.width - len(START) - line_width(tabs)
        return ((START, "busy"), *tabs, ("─" * rest, "busy"))

    def _build(self, y: int, frame: Frame) -> Strip:
        """A rule goes from edge to edge, as the frame of a pane does."""
        if not self.ruled:
            return super()._build(y, frame)
        return strip_of(self.line(0), self.size.width, self.ink, NO_STYLE)

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to the pane under the mouse."""
        end = len(START) - 1 if self.ruled else 0
        for at in range(len(self.tabs)):
            end += line_width(self._tab(at))
            if x < end:
                self.post_message(self.Chosen(at + 1))
                return

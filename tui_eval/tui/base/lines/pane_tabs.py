"""The panes of a screen as tabs, where only one of them has room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.message import Message
from textual.strip import Strip

from tui_eval.tui.base.lines.line_view import NO_STYLE, Frame, LineView
from tui_eval.tui.base.look.ink import Line, line_width, strip_of

START = "─ "
"""Of a rule with tabs."""
GAP = 5
"""Cells between two tabs."""


class Tab(NamedTuple):
    """A pane by its name, and how many things are in it; -1 while nobody knows."""

    name: str
    holds: int


def tab_line(tabs: Sequence[Tab], current: int, gap: int = GAP, key: str = "key") -> Line:
    """Tabs beside each other.

    Args:
        current: The one that is shown, from 1: it looks as the title of a pane with the focus.
        gap: Cells between two.
        key: The ink of their numbers.
    """
    return tuple(
        span
        for number, tab in enumerate(tabs, 1)
        for span in _tab_spans(number, tab, "key" if number == current else "muted", gap, key)
    )


def tab_at(tabs: Sequence[Tab], x: int, gap: int = GAP) -> int:
    """The number of the tab in this cell; 0 for none."""
    end = 0
    for number, tab in enumerate(tabs, 1):
        end += line_width(_tab_spans(number, tab, "", gap, ""))
        if x < end:
            return number
    return 0


def _tab_spans(number: int, tab: Tab, ink: str, gap: int, key: str) -> Line:
    count = f" {tab.holds:,}" if tab.holds >= 0 else ""
    return (f"{number} ", key), (f"{tab.name}{count}", ink), (" " * gap, "")


class PaneTabs(LineView, can_focus=False):
    """One line.

    Args:
        gap: Cells between two tabs.
        key: The ink of their numbers; faint where these are no keys.
        ruled: Whether they stand in a rule, as the title of the pane below would.
    """

    class Chosen(Message):
        """Somebody clicked on a tab."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(
        self,
        tabs: Sequence[Tab] = (),
        gap: int = GAP,
        key: str = "key",
        ruled: bool = False,
        *,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self.tabs = tabs
        self.gap = gap
        self.key_ink = key
        self.ruled = ruled
        self.current = 1

    def show(self, number: int) -> None:
        """Tells that this pane is shown now."""
        self.current = number
        self.update()

    def count(self) -> int:
        """The tabs."""
        return 1

    def line(self, index: int) -> Line:
        """The tabs."""
        tabs = tab_line(self.tabs, self.current, self.gap, self.key_ink)
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
        before = len(START) - 1 if self.ruled else 0
        if number := tab_at(self.tabs, x - before, self.gap):
            self.post_message(self.Chosen(number))

"""The top of the home screen: where one is, and the panes as tabs where only one has room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.message import Message

from tui_eval.printable import one_line
from tui_eval.text.figures import plural
from tui_eval.tui.home.found_runs import FoundRuns
from tui_eval.tui.look.ink import Line, Span, line_width, spread
from tui_eval.tui.widgets.line_view import LineView

NAME = "tui-eval"
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


class HomeHeader(LineView, can_focus=False):
    """One line, or two with the tabs."""

    class TabChosen(Message):
        """Somebody clicked on a tab."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, runs: FoundRuns, folder: str, *, id: str) -> None:
        super().__init__(id=id)
        self.runs = runs
        self.folder = folder
        self.tabs: list[Tab] = []
        self.current = 1

    def count(self) -> int:
        """The title, then the tabs."""
        return 2

    def line(self, index: int) -> Line:
        """The title or the tabs."""
        if index == 1:
            return tab_line(self.tabs, self.current)
        running = self.runs.running
        state: list[Span] = [(f"▶ {running:,} running   ", "busy")] if running else []
        if self.runs.told:
            state.append((plural(len(self.runs.all), "run"), "muted"))
        room = max(self.line_width - line_width(state) - len(NAME) - 4, 8)
        folder = one_line(self.folder, 4000)
        folder = folder if len(folder) <= room else f"…{folder[1 - room :]}"
        return spread(((NAME, "role"), (f"  {folder}", "faint")), tuple(state), self.line_width)

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to the pane under the mouse."""
        number = tab_at(self.tabs, x) if index == 1 else 0
        if number:
            self.post_message(self.TabChosen(number))

"""The top of the home screen: where one is, and the panes as tabs where only one has room."""

from __future__ import annotations

from typing import NamedTuple

from textual.message import Message

from tui_eval.printable import one_line
from tui_eval.tui.home.found_runs import FoundRuns
from tui_eval.tui.look.figures import plural
from tui_eval.tui.look.ink import Line, Span, line_width, spread
from tui_eval.tui.widgets.line_view import LineView

NAME = "tui-eval"


class Tab(NamedTuple):
    """A pane by its name, and how many things are in it; -1 while nobody knows."""

    name: str
    holds: int


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
            return tuple(span for pair in self._tab_spans() for span in pair)
        running = self.runs.running
        state: list[Span] = [(f"▶ {running:,} running   ", "busy")] if running else []
        if self.runs.told:
            state.append((plural(len(self.runs.all), "run"), "muted"))
        room = max(self.line_width - line_width(state) - len(NAME) - 4, 8)
        folder = one_line(self.folder, 4000)
        folder = folder if len(folder) <= room else f"…{folder[1 - room :]}"
        return spread(((NAME, "role"), (f"  {folder}", "faint")), tuple(state), self.line_width)

    def _tab_spans(self) -> list[list[Span]]:
        found = []
        for number, tab in enumerate(self.tabs, 1):
            here = number == self.current
            count = f" {tab.holds:,}" if tab.holds >= 0 else ""
            name: Span = (f"{tab.name}{count}", "strong" if here else "muted")
            found.append([(f"{number} ", "key"), name, ("     ", "")])
        return found

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to the pane under the mouse."""
        if index != 1:
            return
        end = 0
        for number, spans in enumerate(self._tab_spans(), 1):
            end += line_width(spans)
            if x < end:
                self.post_message(self.TabChosen(number))
                return

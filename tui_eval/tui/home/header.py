"""The top of the home screen: where one is, and the panes as tabs where only one has room."""

from __future__ import annotations

from textual.message import Message

from tui_eval.printable import one_line
from tui_eval.text.figures import plural
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.pane_tabs import Tab, tab_at, tab_line
from tui_eval.tui.base.look.ink import Line, Span, line_width, spread
from tui_eval.tui.home.found_runs import FoundRuns

NAME = "tui-eval"


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
        if self.runs.is_loaded:
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

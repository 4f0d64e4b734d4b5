"""How a screen fits its panes into a terminal: by width and height, or one alone; their titles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.terminal.drawing import DrawnScreen

WIDTHS = [(0, "-narrow"), (100, "-normal"), (170, "-wide")]
HEIGHTS = [(0, "-short"), (34, "-tall")]
"""Classes of a screen, from so many columns or lines on."""
NAMES = ("Rollouts", "Trajectory", "Numbers", "Log", "Reward")
"""Of the panes of a run."""
FRAME = 4
"""Cells of a border beside its title."""
ONE_PANE = "Only one pane fits here; it already fills the screen."


def size_classes(size: Size) -> list[str]:
    """The classes that a screen of a size gets: what they change can be mounted with them."""
    cells = zip(size, (WIDTHS, HEIGHTS), strict=True)
    return [max(point for point in points if count >= point[0])[1] for count, points in cells]


class Zoom:
    """Gives the whole screen to one pane; a narrow screen shows one of them anyway.

    Args:
        grid: Lays the panes out.
        changed: Called when something else is shown.
    """

    def __init__(self, screen: DrawnScreen[Any], grid: Widget, changed: Callable[[], None]) -> None:
        self.screen, self.grid, self.changed = screen, grid, changed

    @property
    def can_zoom(self) -> bool:
        """Whether the pane with the focus would have more room."""
        return not self.screen.has_class("-narrow")

    @property
    def is_zoomed(self) -> bool:
        """Whether the pane with the focus was given room that others would have."""
        return self.can_zoom and self.grid.has_class("-zoomed")

    @property
    def word(self) -> str:
        """What the key does, in a word; empty where it does nothing."""
        return ("unzoom" if self.is_zoomed else "zoom") if self.can_zoom else ""

    def action_zoom(self) -> None:
        """Gives the whole screen to the pane with the focus, or takes it back."""
        if self.can_zoom:
            self.grid.toggle_class("-zoomed")
            self.changed()
        else:
            self.screen.say(ONE_PANE)


def style_of_others(app: App[Any]) -> str:
    """How the titles of panes that are not shown look in that of another."""
    return "not bold $foreground " + ("dim" if app.native_ansi_color else "68%")


def _key(number: int) -> str:
    return f" {key_for(f'run.{NAMES[number - 1].lower()}')}"


def _names(numbers: Sequence[int]) -> list[str]:
    return [f"{_key(number)} {NAMES[number - 1]} " for number in numbers]


class Panes(Container):
    """Panes by their numbers; the style sheet lays them out for the one that is in.

    Of the panes that share a place the one that was gone to last has it.

    Args:
        panes: In the order of their numbers, from 1.
        order: The same as they are laid out.
        log: The one that shares the place of those next to it.
    """

    def __init__(
        self, panes: Sequence[Widget], order: Sequence[Widget], log: Widget, *, id: str
    ) -> None:
        super().__init__(id=id, classes="-in-1")
        self._panes = panes
        self._order = order
        self._log = panes.index(log) + 1
        self._titles: dict[Widget, Content] = {}

    def compose(self) -> ComposeResult:
        """The panes."""
        for pane in self._order:
            pane.add_class("pane", update=False)  # it is styled when it is mounted
            yield pane

    def enter(self, number: int) -> None:
        """Lays the panes out for this one."""
        if self.has_class(f"-in-{number}"):
            return
        self.remove_class(*(f"-in-{other}" for other in range(1, len(self._panes) + 1)))
        self.add_class(f"-in-{number}")
        if abs(number - self._log) <= 1:
            self.set_class(number == self._log, "-log")

    def rooms(self, pane: Widget) -> tuple[int, int]:
        """Cells that a pane's title can take: beside the names of the panes that are not shown
        where it tells them, and without them."""
        shown, hidden = self._shown_and_hidden()
        room = (pane.size.width or self.size.width) - FRAME
        return room - (len("".join(_names(hidden))) if pane in shown[:1] else 0), room

    def entitle_all(self, titles: Sequence[Content]) -> None:
        """Puts a title over each pane; the first that is shown names those that are not, or tells
        their numbers where that is too long. A click on one of them goes there."""
        shown, hidden = self._shown_and_hidden()
        style = style_of_others(self.app)
        for pane, title in zip(self._panes, titles, strict=True):
            room = pane.size.width - FRAME - title.cell_length if pane in shown[:1] else 0
            hidden_texts = (_names(hidden), [*map(_key, hidden), " "] if hidden else [])
            others = next((texts for texts in hidden_texts if len("".join(texts)) <= room), [])
            links = [f"{style} @click=screen.pane({number})" for number in hidden]
            spans = zip(others, [*links, style], strict=False)
            self.entitle(pane, Content.assemble(title, *spans))

    def _shown_and_hidden(self) -> tuple[list[Widget], list[int]]:
        """The panes that can be seen, as they are laid out, and the numbers of the others."""
        shown = [pane for pane in self._order if pane.size.height]
        return shown, [at for at, pane in enumerate(self._panes, 1) if pane not in shown]

    def entitle(self, pane: Widget, title: Content) -> None:
        """Puts a title over a pane, unless it is there already."""
        if self._titles.get(pane) != title:
            self._titles[pane] = title
            pane.border_title = title

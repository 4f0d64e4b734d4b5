"""The panes of a run beside each other, and the titles over them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.layout import style_of_others

NAMES = ("Rollouts", "Trajectory", "Numbers", "Log", "Reward")
FRAME = 4
"""Cells of a border beside its title."""


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

"""The panes of a run, of which one is gone to at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from tui_eval.tui.commands.keymap import key_for

NAMES = ("Rollouts", "Trajectory", "Numbers", "Log", "Reward")


def style_of_others(app: App[Any]) -> str:
    """How the titles of panes that are not shown look in that of another."""
    return "not bold $foreground " + ("dim" if app.native_ansi_color else "68%")


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
            pane.add_class("pane")
            yield pane

    def enter(self, number: int) -> None:
        """Lays the panes out for this one."""
        if self.has_class(f"-in-{number}"):
            return
        self.remove_class(*(f"-in-{other}" for other in range(1, len(self._panes) + 1)))
        self.add_class(f"-in-{number}")
        if abs(number - self._log) <= 1:
            self.set_class(number == self._log, "-log")

    def entitle_all(self, titles: Sequence[Content]) -> None:
        """Puts a title over each pane; the first that is shown names those that are not, or tells
        their numbers where that is too long."""
        shown = [pane for pane in self._order if pane.size.height]
        hidden = [name for pane, name in zip(self._panes, NAMES, strict=True) if pane not in shown]
        keys = [key_for(f"run.{name.lower()}") for name in hidden]
        named = "".join(f" {key} {name} " for key, name in zip(keys, hidden, strict=True))
        numbers = f" {' '.join(keys)} " if keys else ""
        style = style_of_others(self.app)
        for pane, title in zip(self._panes, titles, strict=True):
            room = pane.size.width - 4 - title.cell_length if pane in shown[:1] else 0
            others = next((text for text in (named, numbers) if len(text) <= room), "")
            self.entitle(pane, Content.assemble(title, (others, style)) if others else title)

    def entitle(self, pane: Widget, title: Content) -> None:
        """Puts a title over a pane, unless it is there already."""
        if self._titles.get(pane) != title:
            self._titles[pane] = title
            pane.border_title = title

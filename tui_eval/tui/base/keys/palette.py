"""The palette: commands and themes by words of their help."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.command import (
    CommandInput,
    CommandList,
    CommandPalette,
    DiscoveryHit,
    Hit,
    Provider,
)
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.style import Style
from textual.widgets import Input, LoadingIndicator

from tui_eval.tui.base.dialogs.dialog import Overlay


class Commands(Provider):
    """The commands of the screen; each typed word must be in one, as in other filters."""

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        for name, about, act, _ in self._all():
            yield DiscoveryHit(name, act, help=about)

    async def search(self, query: str) -> AsyncIterator[Hit]:
        """Finds commands with every word in their name or the line below it."""
        words = query.lower().split()
        for name, about, act, _ in self._all():
            if all(word in f"{name} {about}".lower() for word in words):
                yield Hit(1.0, self._marked(name, words), act, help=about)

    def _all(self) -> Iterable[SystemCommand]:
        return sorted(self.app.get_system_commands(self.screen), key=lambda one: one.title)

    def _marked(self, name: str, words: list[str]) -> Content:
        marked = Content(name)
        for found in re.finditer("|".join(map(re.escape, words)), name, re.IGNORECASE):
            marked = marked.stylize(self.match_style or "", *found.span())
        return marked


class CommandLines(CommandList):
    """Textual's list, its cursor line reversed where the styles say so."""

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """The style with `reverse`, which Textual leaves out."""
        style = super().get_visual_style(*component_classes, partial=partial)
        all_styles = map(self.get_component_styles, component_classes)
        is_reversed = any(one.text_style.reverse for one in all_styles)
        return style + Style(reverse=True) if is_reversed else style


class Palette(CommandPalette, Overlay[None]):
    """Textual's palette, with key hints as in other boxes."""

    def __init__(self) -> None:
        super().__init__([Commands], id="--command-palette")

    def compose(self) -> ComposeResult:
        """Textual's widgets, by the names that it looks for, without the icon."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield CommandInput(placeholder="Search for commands…", select_on_focus=False)
            with Vertical(id="--results"):
                yield CommandLines()
                yield LoadingIndicator()

    def on_mount(self) -> None:
        self.query_one("#--container").border_subtitle = "enter runs · esc closes"

    @on(Input.Submitted)
    @on(CommandList.OptionSelected)
    def choose_once(self, event: Input.Submitted | CommandList.OptionSelected) -> None:
        """Runs no command that is chosen while the palette closes."""
        if not self.is_current:
            event.stop()
            event.prevent_default()

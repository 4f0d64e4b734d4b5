"""The panes of the form: going from one to another, and what stands over each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from tui_eval.tui.base.layout import style_of_others
from tui_eval.tui.base.terminal.keys_in_turn import focus_once_drawn

if TYPE_CHECKING:
    from tui_eval.tui.form.screen import ConfigureScreen

TITLES = ("Settings", "What it will do", "TOML", "Command line", "Environment")


class FormPanes:
    """The panes of a form's screen, of which all or one is shown."""

    def __init__(self, screen: ConfigureScreen) -> None:
        self._screen = screen

    def action_pane(self, number: int) -> None:
        """Goes to a pane."""
        self.go_to(self._screen.panes[number - 1])

    def action_next_pane(self) -> None:
        """Goes to the next pane."""
        here = (
            self._screen.panes.index(self._screen.focused)
            if self._screen.focused in self._screen.panes
            else -1
        )
        self.go_to(self._screen.panes[(here + 1) % len(self._screen.panes)])

    def go_to(self, pane: Widget) -> None:
        """Shows a pane, which gets the focus."""
        self.show(pane)
        focus_once_drawn(self._screen, pane)

    def show(self, pane: Widget) -> None:
        """Shows a pane where there is room for one only; the help of a field with the fields."""
        number = self._screen.panes.index(pane) + 1
        self._screen.room.set_classes(f"-in-{number}")
        self._screen.tabs.key_ink = "faint" if pane is self._screen.fields else "key"
        self._screen.tabs.show(number)
        self._screen.about.set_class(pane is not self._screen.fields, "-elsewhere")
        self._screen.about.set_class(pane is self._screen.about_env, "-reading")
        self._entitle(are_keys=pane is not self._screen.fields)

    def _entitle(self, are_keys: bool) -> None:
        """Names the panes, with their numbers where these are keys and no text of a field."""
        names = [f" {at} {one} " if are_keys else f" {one} " for at, one in enumerate(TITLES, 1)]
        for pane, name in zip(self._screen.panes, names, strict=True):
            pane.border_title = Content(name)
        hidden = "".join(names[1:4] if self._screen.room.has_class("-in-5") else names[4:])
        others = (
            (hidden, style_of_others(self._screen.app)) if self._screen.has_class("-normal") else ""
        )
        self._screen.fields.border_title = Content.assemble(names[0], others)

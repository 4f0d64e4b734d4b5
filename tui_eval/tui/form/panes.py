"""The panes of the form: going from one to another, and what stands over each."""

from __future__ import annotations

from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from tui_eval.tui.base.lines.pane_tabs import PaneTabs
from tui_eval.tui.base.lines.panes import style_of_others
from tui_eval.tui.base.lines.text_panel import TextPanel
from tui_eval.tui.base.terminal.keys_in_turn import focus_once_drawn
from tui_eval.tui.form.draft_files import DraftFilesScreen
from tui_eval.tui.form.view import FormView

TITLES = ("Settings", "What it will do", "TOML", "Command line", "Environment")


class FormPanesScreen(DraftFilesScreen):
    """A screen with the fields of a form and panes beside them, of which all or one is shown."""

    panes: list[Widget]
    fields: FormView
    about: TextPanel
    about_env: TextPanel
    tabs: PaneTabs
    room: Container

    def on_pane_tabs_chosen(self, message: PaneTabs.Chosen) -> None:
        """A tab was clicked."""
        self.action_pane(message.number)

    def action_pane(self, number: int) -> None:
        """Goes to a pane."""
        self._go_to(self.panes[number - 1])

    def action_next_pane(self) -> None:
        """Goes to the next pane."""
        here = self.panes.index(self.focused) if self.focused in self.panes else -1
        self._go_to(self.panes[(here + 1) % len(self.panes)])

    def _go_to(self, pane: Widget) -> None:
        self._show_pane(pane)
        focus_once_drawn(self, pane)

    def _show_pane(self, pane: Widget) -> None:
        """Shows a pane where there is room for one only; the help of a field with the fields."""
        number = self.panes.index(pane) + 1
        self.room.set_classes(f"-in-{number}")
        self.tabs.key_ink = "faint" if pane is self.fields else "key"
        self.tabs.show(number)
        self.about.set_class(pane is not self.fields, "-elsewhere")
        self.about.set_class(pane is self.about_env, "-reading")
        self._entitle(are_keys=pane is not self.fields)

    def _entitle(self, are_keys: bool) -> None:
        """Names the panes, with their numbers where these are keys and no text of a field."""
        names = [f" {at} {one} " if are_keys else f" {one} " for at, one in enumerate(TITLES, 1)]
        for pane, name in zip(self.panes, names, strict=True):
            pane.border_title = Content(name)
        hidden = "".join(names[1:4] if self.room.has_class("-in-5") else names[4:])
        told = (hidden, style_of_others(self.app)) if self.has_class("-normal") else ""
        self.fields.border_title = Content.assemble(names[0], told)

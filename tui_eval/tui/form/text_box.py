"""A text of several lines, typed with room: JSON, or headers."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import TextArea

from tui_eval.config.fields import Field, value_of
from tui_eval.printable import printable
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.text_panel import TextPanel
from tui_eval.tui.form.texts import wrapped


class TextBox(Dialog[Container, str]):
    """Gives the text back as one line; what is wrong with it stands below while it is typed."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "keep", "Keep", priority=True)]

    def __init__(self, field: Field, text: str) -> None:
        self.area = TextArea(_in_lines(field, text), soft_wrap=True, tab_behavior="indent")
        self.area.cursor_blink = False  # as no caret of this program does
        self.fault = TextPanel(lambda width: (), id="text-fault")
        self.fault.can_focus = False
        box = Container(self.area, self.fault, id="text-box")
        super().__init__(box, field.label, "esc keeps it and closes")
        self._field = field

    def on_mount(self) -> None:
        """Types at the end."""
        self.area.focus()
        self.area.move_cursor(self.area.document.end)
        self.on_text_area_changed()

    def on_text_area_changed(self) -> None:
        """Looks at the text while it is typed."""
        text, fault = self._text(), ""
        try:
            if text:
                value_of(self._field, text)
        except ValueError as error:
            fault = str(error)
        ink = "fault" if fault else "muted"
        words = f"✗ {fault}" if fault else self._field.help
        self.fault.show(lambda width: wrapped(words, width, ink, 3))

    def _text(self) -> str:
        text = self.area.text.strip()
        if self._field.kind == "headers":
            return " | ".join(line.strip() for line in text.splitlines() if line.strip())
        try:
            return json.dumps(json.loads(text), ensure_ascii=False) if text else ""
        except (ValueError, RecursionError):
            return " ".join(text.splitlines())

    def action_keep(self) -> None:
        """Goes back with the text."""
        self.dismiss(self._text())


def _in_lines(field: Field, text: str) -> str:
    if field.kind == "headers":
        return printable("\n".join(text.split(" | ")))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return printable(text)
    shown = json.dumps(value, indent=2, ensure_ascii=False)
    return shown if printable(shown) == shown else json.dumps(value, indent=2)

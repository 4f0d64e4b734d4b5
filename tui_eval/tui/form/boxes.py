"""Dialogs over a form: lists of values, tables and files, and a box to type in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container

from tui_eval.config.draft import Draft
from tui_eval.config.fields import Field, value_of
from tui_eval.config.form import Form
from tui_eval.errors import Fault
from tui_eval.printable import printable
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.form.backend import FormBackend, Offer
from tui_eval.tui.form.picker import Picker
from tui_eval.tui.form.texts import readme_of, wrapped


def field_box(field: Field, form: Form, backend: FormBackend) -> Picker | TextBox:
    """A list of values for a field, or a box to type one."""
    text = form.text(field.name)
    if field.name == "env_id":
        return _environments(form, backend, text)
    if field.name == "model":
        registry = form.effective("endpoints_path") if form.text("endpoints_path") else None
        return Picker(
            "Endpoints",
            lambda: asyncio.to_thread(backend.endpoints, registry),
            str(form.effective("model") or ""),
            free=lambda text: "as typed; name its URL or provider as well",
        )
    if field.name == "resume":
        folder = str(form.effective("env_dir_path"))
        return Picker(
            "Runs that can be resumed",
            lambda: asyncio.to_thread(backend.resumable, folder),
            text,
            free=lambda text: "as typed",
        )
    if field.choices:
        return _picker_of(field.label, field.choices, text)
    return TextBox(field, text)


def _environments(form: Form, backend: FormBackend, text: str) -> Picker:
    async def about(env_id: str) -> str:
        found = await backend.describe(env_id, form)
        if found.get("status") == "described":
            return readme_of(found)
        return "\n".join(str(Fault(**fault)) for fault in found["faults"])

    return Picker(
        "Environments",
        lambda: backend.environments(str(form.effective("env_dir_path"))),
        text,
        about=about,
        free=lambda text: "as typed",
    )


def table_picker(draft: Draft) -> Picker:
    """A list of the evaluations of a file."""
    current = draft.titles[draft.places.index(draft.place)]
    return _picker_of("Evaluations of the file", draft.titles, current)


def load_picker(backend: FormBackend) -> Picker:
    """A list of files to load, or any path."""
    return Picker(
        "Load a TOML file",
        lambda: asyncio.to_thread(backend.files),
        free=_exists,
        paths=True,
        how="type a path or a part of one · enter loads",
    )


def save_picker(draft: Draft) -> Picker:
    """A list of paths to save to, or any other."""
    name = f"configs/eval/{draft.form.env_id or 'new'}.toml"
    text = str(draft.path or name)
    return Picker(
        "Save as",
        lambda: _these(()),
        text=text,
        free=partial(_replaces, draft),
        paths=True,
        how="enter saves",
    )


def _picker_of(title: str, names: Sequence[str], current: str) -> Picker:
    return Picker(title, lambda: _these([Offer(name) for name in names]), current)


async def _these(offers: Sequence[Offer]) -> Sequence[Offer]:
    return offers


def _exists(text: str) -> str:
    return "this file" if Path(text).is_file() else "there is no such file"


def _replaces(draft: Draft, text: str) -> str:
    path = Path(text)
    if not path.exists():
        return "a new file"
    changed = "; it was changed since it was read here"
    return f"this file is replaced{changed if path == draft.path and draft.is_behind() else ''}"


HEIGHTS = [(0, "-short"), (28, "-tall")]
"""Classes of a box, from so many lines of the screen on."""


class TextBox(Dialog[Container, Offer]):
    """Returns a changed text as one line; shows its faults below."""

    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "keep", "Keep", priority=True)]

    def __init__(self, field: Field, text: str) -> None:
        from textual.widgets import TextArea  # it takes as long to load as all of the form

        self.area = TextArea(_in_lines(field, text), soft_wrap=True, tab_behavior="indent")
        self.area.cursor_blink = False  # as no caret of this program does
        self.fault = PlainPanel(lambda width: (), id="text-fault")
        box = Container(self.area, self.fault, id="text-box")
        super().__init__(box, field.label, "esc keeps it and closes")
        self._field, self._before = field, text

    def on_mount(self) -> None:
        self.area.focus()
        self.area.move_cursor(self.area.document.end)
        self.on_text_area_changed()

    def on_text_area_changed(self) -> None:
        """Checks the text while it is typed."""
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
        """Returns the text, if it has changed."""
        text = self._text()
        self.dismiss(Offer(text) if text != self._before else None)


def _in_lines(field: Field, text: str) -> str:
    if field.kind == "headers":
        return printable("\n".join(text.split(" | ")))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return printable(text)
    shown = json.dumps(value, indent=2, ensure_ascii=False)
    return shown if printable(shown) == shown else json.dumps(value, indent=2)

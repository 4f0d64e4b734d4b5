"""The fields of a form, a line each; keys type into the one under the cursor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual import events

from tui_eval.config.fields import Field, text_of
from tui_eval.config.form import REQUIRED, Form
from tui_eval.text.figures import NONE
from tui_eval.tui.base.keys.keymap import IN_USE
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_line import TextLine
from tui_eval.tui.base.look.ink import EMPTY, Line, cut, cut_start, left
from tui_eval.tui.base.look.wrap import shown_lines

if TYPE_CHECKING:
    from tui_eval.tui.form.screen import ConfigureScreen

LABEL = 28
"""Cells of the names."""
SOURCE_LEAST = 8
VALUE_LEAST, VALUE_STUB = 10, 5
"""Cells of a default before a path that can be cut, and before words that cannot."""
MOST_FAULT_LINES = 8
PICKED = frozenset(("env_id", "model", "resume"))
"""Fields with a list of values that take other text as well."""


class Row(NamedTuple):
    """A line: a heading, a field, or a part of a fault of the field above."""

    text: str = ""
    field: Field | None = None
    is_fault: bool = False


def _origin(source: str, room: int) -> str:
    """The origin of a default: a path may be cut to its end, words are whole or left out."""
    if not source or room < SOURCE_LEAST:
        return ""
    is_path = " " not in source
    for whole in (f"from {source}", source)[: 1 + is_path]:
        if cell_len(whole) <= room:
            return f"  {whole}"
    if not is_path:
        return ""
    end = cut_start(source, room)[1:]
    if source[-len(end) - 1] not in " /":
        end = re.sub("^[^ /]*[ /]", "", end)
    return f"  …{end}"


class FormView(LineView, inherit_bindings=False):
    """Draws a form and edits its texts; faults are shown below their fields."""

    def __init__(self, form: Form, around: ConfigureScreen) -> None:
        super().__init__(id="fields")
        self._around = around
        self.typing = TextLine()
        self.name_here = "env_id"
        self._rows: list[Row] = []
        self.faults: dict[str, str] = {}
        """Faults by name of the field."""
        self.show_form(form)

    def show_form(self, form: Form) -> None:
        """Shows another form, from its first field on."""
        self.form = form
        self.found: Mapping[str, str] = {}
        self.go_to(form.fields()[0].name)

    def go_to(self, name: str) -> None:
        """Puts the cursor on a field."""
        self.name_here = name
        self.typing.put(self.form.text(name))
        self.lay_out()
        self._show_here()

    def lay_out(self) -> None:
        """Takes in the fields, their texts and their faults.

        A view that was scrolled away from the cursor stays there.
        """
        fields, top = self.form.fields(), self.scroll_offset.y
        was_seen = top <= self._row_of(self.name_here) < top + self.view_height
        if self.name_here not in {field.name for field in fields}:
            self.name_here = fields[0].name
        if self.typing.text != self.form.text(self.name_here):
            self.typing.put(self.form.text(self.name_here))
        self.faults = {**self.found, **self.form.faults()}
        self._rows, group = [], ""
        for field in fields:
            if field.group != group:
                self._rows += [Row()] * bool(group) + [Row(group := field.group)]
            self._rows.append(Row(field=field))
            fault = self.faults.get(field.name, REQUIRED)
            if fault != REQUIRED:  # the empty field says that itself
                width = max(self.line_width - 6, 20)
                lines, hidden = shown_lines(fault, width, MOST_FAULT_LINES)
                if hidden:
                    lines[-1] = cut(f"{lines[-1]} …", width)
                self._rows += [Row(line, field, is_fault=True) for line in lines]
        self.update()
        if was_seen:
            self._show_here()

    def _show_here(self) -> None:
        if self.size.height:
            at = self._row_of(self.name_here)
            first = at == next(i for i, row in enumerate(self._rows) if row.field)
            faults = sum(row.is_fault and row.field is self.here for row in self._rows)
            self.show_line(0 if first else at, margin=max(faults, 2))

    @property
    def here(self) -> Field:
        """The field under the cursor."""
        return self.form.field(self.name_here)

    def _row_of(self, name: str) -> int:
        rows = enumerate(self._rows)
        return next((at for at, row in rows if row.field and row.field.name == name), 0)

    def on_resize(self) -> None:
        """Wraps the faults again."""
        self.lay_out()  # and `LineView.on_resize` is called by Textual

    def on_focus(self) -> None:
        """Draws the caret."""
        self.update()

    on_blur = on_focus

    def count(self) -> int:
        return len(self._rows)

    def marked(self, index: int) -> bool:
        row = self._rows[index]
        return row.field is not None and row.field.name == self.name_here and not row.is_fault

    def line(self, index: int) -> Line:
        row = self._rows[index]
        if row.field is None:
            return ((row.text, "role"),) if row.text else EMPTY
        if row.is_fault:
            first = not self._rows[index - 1].is_fault
            return (("    ✗ " if first else "      ", "bad"), (row.text, "fault"))
        here = row.field.name == self.name_here
        ink = "key" if here else "" if self.form.text(row.field.name) else "muted"
        label = f" {left(row.field.label, LABEL - 2)} "
        return ((label, ink), *self._value(row.field, here, self.line_width - LABEL))

    def _value(self, field: Field, here: bool, width: int) -> Line:
        text = self.form.text(field.name)
        if field.kind == "flag" and (not text or text in ("true", "false")):
            on = bool(self.form.effective(field.name))
            word = "✓ yes" if on else "· no" if text or not self._has_opposite(field) else NONE
            caret: Line = ((word[0], "caret"), (word[1:], "")) if here and self.has_focus else ()
            return caret or ((word, ("good" if on else "") if text else "faint"),)
        if text and not (here and self.has_focus):
            return ((cut(text, width), "fault" if field.name in self.faults else ""),)
        if text:
            return self.typing.spans(width)
        caret = ((" ", "caret"),) if here and self.has_focus else ()
        return (*caret, *self._default(field, width - len(caret)))

    def _has_opposite(self, field: Field) -> bool:
        """Whether another flag says the contrary: then `no` means unset."""
        name = field.name
        other = name.removeprefix("no_") if name.startswith("no_") else f"no_{name}"
        return any(one.name == other for one in self.form.fields())

    def _default(self, field: Field, width: int) -> Line:
        value, source = self.form.default(field.name)
        if self.faults.get(field.name) == REQUIRED:
            return (("required", "warn"),)
        if (sampled := self.form.sampled(field.name)) is not None:
            typed = self.form.text("sampling_args")
            brought = "" if typed else self.form.default("sampling_args")[1]
            value, source = sampled, brought or "sampling_args"
        text = NONE if value is None else text_of(field, value) or '""'
        least = VALUE_STUB if " " in source else VALUE_LEAST
        about = _origin(source, width - min(cell_len(text), least) - 2)
        return ((cut(text, width - cell_len(about)) + about, "faint"),)

    def _write(self) -> None:
        self.put_text(self.name_here, self.typing.text)

    def put_text(self, name: str, text: str) -> None:
        """Writes into a field as if it was typed."""
        self.form.put(name, text)
        self.found = {key: fault for key, fault in self.found.items() if key != name}
        self.lay_out()
        self._show_here()
        self._around.field_changed(name)

    async def on_key(self, event: events.Key) -> None:
        """Types into the field; of a flag toggles it.

        Bindings would run later than characters that were typed after them.
        """
        if action := IN_USE.get().of_fields.get(event.key):
            event.stop()
            await self.run_action(action)
            return
        if event.character is None or not event.is_printable:
            return
        event.stop()
        if self.here.kind == "flag":
            if event.character in " xyn":
                self._turn_over()
            return
        self.typing.insert(event.character)
        self._write()

    def on_paste(self, event: events.Paste) -> None:
        """Pastes into the field."""
        event.stop()
        if self.here.kind != "flag":
            self.typing.insert(event.text.strip("\r\n").replace("\r\n", "\n"))
            self._write()

    def _turn_over(self) -> None:
        self.form.switch(self.name_here)
        self.put_text(self.name_here, self.form.text(self.name_here))

    def action_move(self, by: int) -> None:
        names = [field.name for field in self.form.fields()]
        at = names.index(self.name_here) + by
        self.go_to(names[min(max(at, 0), len(names) - 1)])
        self._around.field_moved()

    @property
    def word_of_enter(self) -> str:
        """The footer word of enter for the field."""
        here = self.here
        if here.kind == "flag":
            return "switch"
        if here.kind in ("json", "headers"):
            return "edit"
        return "choose" if here.choices or here.name in PICKED else "next"

    def action_open(self) -> None:
        """Opens the list, toggles, or goes to the next field."""
        if self.here.kind == "flag":
            self._turn_over()
        elif self.word_of_enter == "next":
            self.action_move(1)
        else:
            self._around.pick(self.here)

    def action_clear(self) -> None:
        """Clears the field: the default holds."""
        self.typing.put("")
        self._write()

    def action_caret(self, by: int) -> None:
        """Moves the caret, or changes a flag or a choice."""
        if self.here.kind == "flag":
            self._turn_over()
        elif self.here.choices and abs(by) == 1:
            texts = ["", *self.here.choices]
            text = self.typing.text
            at = texts.index(text) + by if text in texts else 0
            self.put_text(self.name_here, texts[at % len(texts)])
        else:
            self.typing.move(by)
            self.update()

    def action_word(self, by: int) -> None:
        self.typing.move_word(by)
        self.update()

    def action_delete(self, by: int) -> None:
        """Deletes a character; clears a flag."""
        if self.here.kind == "flag":
            self.action_clear()
            return
        before = self.typing.text
        self.typing.delete(by)
        if before != self.typing.text:
            self._write()

    def action_delete_word(self) -> None:
        """Deletes the word before the caret."""
        self.typing.delete_word()
        self._write()

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to a field; toggles a flag; puts the caret into the text of the field."""
        field = self._rows[index].field
        if field is None:
            return
        was_here = field.name == self.name_here
        if not was_here:
            self.go_to(field.name)
            self._around.field_moved()
        if field.kind == "flag":
            self._turn_over()
        elif was_here and self.word_of_enter != "next":
            self.action_open()
        elif was_here and x >= LABEL and not self._rows[index].is_fault:
            self.typing.click(x - LABEL, self.line_width - LABEL)
            self.update()

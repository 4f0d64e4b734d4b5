"""The dialog for a note and tags on a rollout."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from tui_eval.fold.columns import Note
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.dialogs.question import TypedLines

HINT = "spaces between tags · tab: other line · enter saves · esc discards"


class NoteDialog(Dialog[TypedLines, Note]):
    """Returns the note on the rollout of this name; an empty one removes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss", "Leave it"),
        ("enter", "keep", "Keep"),
    ]

    def __init__(self, name: str, note: Note) -> None:
        texts = {"note": note.text, "tags": " ".join(note.tags)}
        super().__init__(TypedLines(texts, HINT), f"Note · {name}")

    def action_keep(self) -> None:
        """Returns the typed note; a `#` before a tag is not part of it."""
        text, typed = (one.text for one in self.box.fields)
        tags = (tag.lstrip("#") for tag in typed.replace(",", " ").split())
        self.dismiss(Note(text.strip(), tuple(dict.fromkeys(tag for tag in tags if tag))))

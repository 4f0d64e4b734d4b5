"""What somebody puts down about a rollout: a note and tags."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui_eval.fold.columns import Note
from tui_eval.printable import printable
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line

NAMES = ("note", "tags")
NAME = 6
HINT = "spaces between tags · tab: other line · enter saves · esc discards"


class NoteLines(LineView):
    """Two lines to type on."""

    def __init__(self, note: Note) -> None:
        super().__init__()
        self.fields = [TextLine(), TextLine()]
        self.fields[0].put(note.text)
        self.fields[1].put(" ".join(note.tags))
        self.at = 0

    @property
    def note(self) -> Note:
        """What stands there; a `#` before a tag is not part of it."""
        tags = (tag.lstrip("#") for tag in self.fields[1].text.replace(",", " ").split())
        text = self.fields[0].text
        return Note(text.strip(), tuple(dict.fromkeys(tag for tag in tags if tag)))

    def on_mount(self) -> None:
        """Takes the height that it needs."""
        self.update()

    def count(self) -> int:
        """Two fields, a blank line, what the keys do."""
        return len(NAMES) + 2

    def line(self, index: int) -> Line:
        """A field, with the caret if it is typed in."""
        if index >= len(NAMES):
            return ((HINT, "faint"),) if index > len(NAMES) else EMPTY
        field, room = self.fields[index], self.line_width - NAME
        name = (f"{NAMES[index]:<{NAME}}", "key" if index == self.at else "muted")
        return (name, *(field.spans(room) if index == self.at else ((field.text[:room], ""),)))

    def on_key(self, event: events.Key) -> None:
        """Types, or goes to the other line."""
        if event.key in ("tab", "shift+tab", "down", "up"):
            self.at = 1 - self.at
        elif not type_into(self.fields[self.at], event):
            return
        event.stop()
        event.prevent_default()
        self.update()

    def on_paste(self, event: events.Paste) -> None:
        """Takes what is pasted."""
        event.stop()
        self.fields[self.at].insert(event.text)
        self.update()

    def clicked_at(self, x: int, index: int) -> None:
        """Goes to a line; puts the caret into the one that is typed on."""
        if index >= len(NAMES):
            return
        if index == self.at:
            self.fields[index].click(x - NAME, self.line_width - NAME)
        self.at = index
        self.update()


class NoteDialog(Dialog[Note | None]):
    """Answers with the note; with an empty one to take it away.

    Args:
        name: Of the rollout.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Leave it", show=False),
        Binding("enter", "keep", "Keep", show=False),
    ]

    def __init__(self, name: str, note: Note) -> None:
        super().__init__()
        self._box = NoteLines(note)
        self._box.border_title = Content(printable(f"Note · {name}"))

    def compose(self) -> ComposeResult:
        """The box."""
        yield self._box

    def action_keep(self) -> None:
        """Keeps what stands there."""
        self.dismiss(self._box.note)

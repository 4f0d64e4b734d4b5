"""Dialogs with a question: a choice of a few answers, or lines to type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content

from tui_eval.errors import Fault
from tui_eval.fold.columns import Note
from tui_eval.printable import printable
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.dialogs.prompts import Choice, Prompt
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line, left
from tui_eval.tui.base.look.wrap import shown_lines, wrap

LABEL = 16
TEXT, MOST = 66, 12
"""Cells of a line of text, and lines that one text has at most."""


class Choices(LineView):
    """The question's text and its answers, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "choose", "Choose")]

    def __init__(self, prompt: Prompt) -> None:
        super().__init__()
        self.cursor = 0
        self._put(prompt)

    def _put(self, prompt: Prompt) -> None:
        """Shows a prompt; the first line of its text stands out."""
        self.prompt = prompt
        self.border_title = Content(printable(prompt.title))
        text: list[Line] = [
            ((part, "muted" if at else ""),)
            for at, text in enumerate(prompt.text)
            for part in shown_lines(text, TEXT, MOST)[0]
        ]
        self._first = len(text) + 1
        self._all_lines = (*text, EMPTY, *map(_choice_line, prompt.choices))

    def show(self, prompt: Prompt) -> None:
        """Shows another prompt; the cursor stays on its answer, else goes to the last one."""
        if prompt == self.prompt:
            return
        key = self.prompt.choices[self.cursor].key
        self._put(prompt)
        keys = [one.key for one in prompt.choices]
        self.cursor = keys.index(key) if key in keys else len(keys) - 1
        self.update()

    def marked(self, index: int) -> bool:
        return index - self._first == self.cursor

    def lit(self, index: int) -> bool:
        return self.marked(index)

    def action_move(self, by: int) -> None:
        self.cursor = (self.cursor + by) % len(self.prompt.choices)
        self.update()

    def action_choose(self) -> None:
        self.screen.dismiss(self.prompt.choices[self.cursor].answer)

    def clicked(self, index: int) -> None:
        if index >= self._first:
            self.cursor = index - self._first
            self.action_choose()


def _choice_line(choice: Choice) -> Line:
    key = "esc" if choice.key == "escape" else choice.key
    return (f" {key:<5}", "key"), (left(choice.label, LABEL), "strong"), (choice.note, "muted")


CLOSES = Choice("escape", "close", "", None)
ACCEPTS = "--accept-changes"
"""Part of the hint of a fault that can be accepted."""


def closing_question(title: str, text: str) -> Question:
    """A text that has to be read, with nothing to choose."""
    return Question(lambda: Prompt(title, [text], [CLOSES]))


def refusal_question(title: str, faults: Sequence[Fault]) -> Question:
    """Says why something was refused; returns True where its changes are accepted."""
    if not faults or any(ACCEPTS not in fault.hint for fault in faults):
        return closing_question(title, "\n".join(str(one).removeprefix(": ") for one in faults))
    text = "\n".join(fault.what for fault in faults)
    accepts = Choice("a", "accept it", "the run resumes all the same", True)
    return Question(lambda: Prompt(title, ["What is not as it was:", text], [accepts, CLOSES]))


class Question(Dialog[Choices, Any]):
    """Returns the chosen answer; `make_prompt` makes the question as things are now."""

    def __init__(self, make_prompt: Callable[[], Prompt]) -> None:
        super().__init__(Choices(make_prompt()))
        self._make_prompt = make_prompt

    def follow(self) -> None:
        """Shows the question as it is now."""
        self.box.show(self._make_prompt())

    def on_key(self, event: events.Key) -> None:
        for choice in self.box.prompt.choices:
            if event.key == choice.key:
                event.stop()
                self.dismiss(choice.answer)
                return


ABOUT_MOST = 3
GAP = 2
"""Cells behind the longest name."""
STEPS = {"tab": 1, "down": 1, "shift+tab": -1, "up": -1}
"""Keys that go to another line."""


class TypedLines(LineView):
    """Named lines to type on; below, their purpose and their keys."""

    def __init__(self, texts: Mapping[str, str], hint: str, about: str = "") -> None:
        super().__init__()
        self.names = [*texts]
        self.fields = [TextLine(text, len(text)) for text in texts.values()]
        self.at = 0
        self._name_width = max(len(name) + GAP if name else 0 for name in texts)
        self._hint, self._about = hint, about

    @property
    def typed(self) -> TextLine:
        return self.fields[self.at]

    @property
    def _lines_below(self) -> list[Line]:
        about = wrap(self._about, self.line_width, ABOUT_MOST)[0] if self._about else []
        return [EMPTY, *(((line, "muted"),) for line in about), ((self._hint, "faint"),)]

    @property
    def _room(self) -> int:
        return self.line_width - self._name_width

    def count(self) -> int:
        return len(self.fields) + len(self._lines_below)

    def line(self, index: int) -> Line:
        if index >= len(self.fields):
            return self._lines_below[index - len(self.fields)]
        is_here, text = index == self.at, self.fields[index].text
        name = (left(self.names[index], self._name_width), "key" if is_here else "muted")
        return (name, *(self.typed.spans(self._room) if is_here else ((text[: self._room], ""),)))

    def clicked_at(self, x: int, index: int) -> None:
        if index < len(self.fields):
            if index == self.at:
                self.typed.click(x - self._name_width, self._room)
            self.at = index
            self.update()

    def on_key(self, event: events.Key) -> None:
        if len(self.fields) > 1 and event.key in STEPS:
            self.at = (self.at + STEPS[event.key]) % len(self.fields)
        elif not type_into(self.typed, event):
            return
        event.stop()
        event.prevent_default()
        self.update()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.typed.insert(event.text)
        self.update()


class PathPrompt(Dialog[TypedLines, str]):
    """Returns the path, or None; `about` says what happens there, `does` what enter does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss", "Leave it"),
        ("enter", "take", "Take it"),
    ]

    def __init__(self, title: str, path: str, about: str, does: str) -> None:
        lines = TypedLines({"": path}, f"enter {does} · esc closes", about)
        super().__init__(lines, title)

    def action_take(self) -> None:
        self.dismiss(self.box.typed.text.strip() or None)


NOTE_HINT = "spaces between tags · tab: other line · enter saves · esc discards"


class NoteDialog(Dialog[TypedLines, Note]):
    """Returns the note on the rollout of this name; an empty one removes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss", "Leave it"),
        ("enter", "keep", "Keep"),
    ]

    def __init__(self, name: str, note: Note) -> None:
        texts = {"note": note.text, "tags": " ".join(note.tags)}
        super().__init__(TypedLines(texts, NOTE_HINT), f"Note · {name}")

    def action_keep(self) -> None:
        """Returns the typed note; a `#` before a tag is not part of it."""
        text, typed = (one.text for one in self.box.fields)
        tags = (tag.lstrip("#") for tag in typed.replace(",", " ").split())
        self.dismiss(Note(text.strip(), tuple(dict.fromkeys(tag for tag in tags if tag))))

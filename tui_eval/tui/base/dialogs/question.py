"""A question with a few answers, over the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content

from tui_eval.errors import Fault
from tui_eval.printable import printable
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.dialogs.prompts import Choice, Prompt
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line, left
from tui_eval.tui.base.look.wrap import shown_lines

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
        """Takes what is asked; the first line of its text stands out."""
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
        """Shows what is asked now; the cursor stays on its answer, else goes to the last one."""
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
        """Goes back with the answer under the cursor."""
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
"""What the hint of a fault has in it that can be accepted."""


def closing_question(title: str, text: str) -> Question:
    """A text that has to be read, with nothing to choose."""
    return Question(lambda: Prompt(title, [text], [CLOSES]))


def refusal_question(title: str, faults: Sequence[Fault]) -> Question:
    """Why something was refused; comes back with True where changes that do it are accepted."""
    if not faults or any(ACCEPTS not in fault.hint for fault in faults):
        return closing_question(title, "\n".join(str(one).removeprefix(": ") for one in faults))
    text = "\n".join(fault.what for fault in faults)
    accepts = Choice("a", "accept it", "the run goes on all the same", True)
    return Question(lambda: Prompt(title, ["What is not as it was:", text], [accepts, CLOSES]))


class Question(Dialog[Choices, Any]):
    """Comes back with the answer that was chosen.

    Args:
        ask: What is asked, as things are now.
    """

    def __init__(self, ask: Callable[[], Prompt]) -> None:
        super().__init__(Choices(ask()))
        self._ask = ask

    def follow(self) -> None:
        """Asks what is to be asked now."""
        self.box.show(self._ask())

    def on_key(self, event: events.Key) -> None:
        """The answers' own keys."""
        for choice in self.box.prompt.choices:
            if event.key == choice.key:
                event.stop()
                self.dismiss(choice.answer)
                return

"""A question with a few answers, over the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from tui_eval.printable import printable
from tui_eval.tui.leaving import Choice
from tui_eval.tui.look.ink import EMPTY, Line, left
from tui_eval.tui.screens.dialog import Dialog
from tui_eval.tui.widgets.line_view import LineView

LABEL = 16


class Choices(LineView):
    """The question's text and its answers, one of them under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Choose", show=False)]

    class Chosen(Message):
        """An answer was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, text: Sequence[str], choices: Sequence[Choice]) -> None:
        super().__init__()
        self._text = text
        self.choices = choices
        self.cursor = 0

    def on_mount(self) -> None:
        """Takes the height that it needs."""
        self.update()

    def count(self) -> int:
        """The text, a blank line, the answers."""
        return len(self._text) + 1 + len(self.choices)

    def _at(self, index: int) -> int:
        return index - len(self._text) - 1

    def marked(self, index: int) -> bool:
        """The answer under the cursor."""
        return self._at(index) == self.cursor

    def lit(self, index: int) -> bool:
        """The answer under the cursor."""
        return self._at(index) == self.cursor

    def line(self, index: int) -> Line:
        """A line of text, or an answer."""
        if index < len(self._text):
            return ((self._text[index], "" if index == 0 else "muted"),)
        at = self._at(index)
        if at < 0:
            return EMPTY
        choice = self.choices[at]
        key = "esc" if choice.key == "escape" else choice.key
        return (
            (f" {key:<5}", "key"),
            (left(choice.label, LABEL), "strong"),
            (choice.note, "muted"),
        )

    def action_move(self, by: int) -> None:
        """Moves the cursor."""
        self.cursor = (self.cursor + by) % len(self.choices)
        self.update()

    def action_choose(self) -> None:
        """Chooses the answer under the cursor."""
        self.post_message(self.Chosen(self.choices[self.cursor]))

    def clicked(self, index: int) -> None:
        """Chooses an answer."""
        if self._at(index) >= 0:
            self.cursor = self._at(index)
            self.action_choose()


def closing_question(title: str, text: str) -> Question:
    """A text that has to be read, with nothing to choose."""
    from tui_eval.tui.look.wrap import shown_lines

    lines, _ = shown_lines(text, 56, 12)
    closes = Choice("escape", "close", "", None)
    return Question(title, list(lines), [closes], about_running=False)


class Question(Dialog[Any]):
    """Comes back with the answer that was chosen.

    Args:
        about_running: The question has no sense once the run has ended.
    """

    def __init__(
        self, title: str, text: Sequence[str], choices: Sequence[Choice], about_running: bool
    ) -> None:
        super().__init__()
        self._title = title
        self._box = Choices(text, choices)
        self.about_running = about_running

    def compose(self) -> ComposeResult:
        """The box."""
        self._box.border_title = Content(printable(self._title))
        yield self._box

    def on_key(self, event: events.Key) -> None:
        """The answers' own keys."""
        for choice in self._box.choices:
            if event.key == choice.key:
                event.stop()
                self.dismiss(choice.answer)
                return

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """An answer was chosen with the cursor."""
        self.dismiss(message.choice.answer)

"""The bottom line: the keys that matter now, or a message for a few seconds."""

from __future__ import annotations

from textual import events

from tui_eval.tui.commands import COMMANDS, Command
from tui_eval.tui.ink import Line, Span, line_width
from tui_eval.tui.widgets.line_view import LineView

MESSAGE_S = 8.0
ORDER = ("q", "question_mark", "space", "f", "enter", "tab", "z", "e", "t")


class KeyLine(LineView, can_focus=False):
    """Keys are shown as far as they fit; a click on one does the same."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.scopes: tuple[str, ...] = ("screen",)
        self.words: dict[str, str] = {}
        self.message = ""
        self._until = 0.0

    def say(self, message: str, now: float) -> None:
        """Shows a message in place of the keys for a while."""
        self.message = message
        self._until = now + MESSAGE_S
        self.update()

    def tick(self, now: float) -> None:
        """Takes the message away when its time is over."""
        if self.message and now >= self._until:
            self.message = ""
        self.update()

    def count(self) -> int:
        """One line."""
        return 1

    def line(self, index: int) -> Line:
        """The message, or the keys."""
        if self.message:
            return ((self.message, "warn"),)
        return tuple(span for _, spans in self._fitting() for span in spans)

    def _fitting(self) -> list[tuple[Command, list[Span]]]:
        """The commands with their spans, as many as fit."""
        found: list[tuple[Command, list[Span]]] = []
        used = 0
        for key in ORDER:
            for command in COMMANDS:
                if command.keys != key or not command.footer or command.scope not in self.scopes:
                    continue
                word = self.words.get(command.action, command.footer)
                spans: list[Span] = [(command.shown.split()[0], "key"), (f" {word}   ", "muted")]
                used += line_width(spans)
                if word and used <= self.line_width + 3:
                    found.append((command, spans))
        return found

    def on_click(self, event: events.Click) -> None:
        """Does what the key under the mouse does."""
        x = 1
        for command, spans in self._fitting():
            x += line_width(spans)
            if event.x < x:
                self.app.simulate_key(command.keys)
                return

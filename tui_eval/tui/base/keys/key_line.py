"""The bottom line: the keys that matter now, or a message for a few seconds."""

from __future__ import annotations

from collections.abc import Iterator

from tui_eval.tui.base.keys.command import Command
from tui_eval.tui.base.keys.keymap import COMMANDS, IN_USE
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.mouse_lines import key_in_line
from tui_eval.tui.base.look.ink import EMPTY, Line, cut_message, line_width

MESSAGE_S = 8.0
WIDE = 100
RANKED = sorted((one for one in COMMANDS if one.footer), key=lambda one: one.rank)


class KeyLine(LineView, can_focus=False):
    """Shows as many keys as fit; a click on one presses it."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.scopes: tuple[str, ...] = ("run",)
        self.words: dict[str, str] = {}
        self.message = ""
        self.held = ""
        """Text that stays before the keys."""
        self._until = 0.0

    def say(self, message: str, now: float) -> None:
        """Shows a message in place of the keys for a while."""
        self.message = message
        self._until = now + MESSAGE_S
        self.update()

    def expire(self, now: float) -> None:
        """Removes the message when its time is over."""
        if self.message:
            self.tick(now)

    def tick(self, now: float) -> None:
        """Draws changes; removes the message when its time is over."""
        if self.message and now >= self._until:
            self.message = ""
        self.update()

    def count(self) -> int:
        return 1

    def line(self, index: int) -> Line:
        held = ((self.held, "warn"), ("   ", "")) if self.held else EMPTY
        room = self.line_width - line_width(held)
        if self.message:
            return (*held, (cut_message(self.message, room), "warn"))
        return (*held, *(span for _, spans in self._fitting(room) for span in spans))

    def _fitting(self, room: int) -> Iterator[tuple[Command, Line]]:
        """The commands with their spans, as many as fit."""
        gap = "  " if self.line_width < WIDE else "   "
        for command in RANKED:
            word = self.words.get(command.action, command.footer)
            if command.scope not in self.scopes or not word:
                continue
            spans = ((IN_USE.get().sign(command), "key"), (f" {word}{gap}", "muted"))
            room -= line_width(spans)
            if room >= -len(gap):
                yield command, spans

    def clicked_at(self, x: int, index: int) -> None:
        if self.message:
            self.message = ""
            self.update()
            return
        if key := key_in_line(self.line(index), x, action_inks=("muted",)):
            self.app.simulate_key(key)

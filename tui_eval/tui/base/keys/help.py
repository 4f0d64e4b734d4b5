"""The keys and the signs, read from the tables that make them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType

from tui_eval.text.stages import LOOKS, MEANINGS, OTHERS
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.keys.command import ABOVE, Command, Scope
from tui_eval.tui.base.keys.keymap import APART, COMMANDS, IN_USE, LISTS, Keymap, key_for
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line, left, line_width

HERE = "In this pane"
PLACE = re.compile("^In the [a-z]+: (.)")
KEYS = 13
MOUSE: tuple[Line, ...] = (
    (("The mouse", "role"),),
    ((f"  {'drag':{KEYS}}", "key"), ("Copy what is dragged over", "")),
    ((f"  {'⇧drag':{KEYS}}", "key"), ("Select as in a shell", "")),
)
UNFOLLOWED = {"view.bottom": "To the end"}
"""Help texts by command where nothing is followed."""
GAP = 3
"""Cells between two columns."""


def without_words(words: Mapping[str, str], *actions: str) -> dict[str, str]:
    """The actions that the help leaves out, as their footer word is empty."""
    silent = [one for one in actions if words.get(one) == ""]
    return {command.id: "" for command in COMMANDS if command.action in silent}


def sign_lines() -> Iterator[Line]:
    """The signs of the stages with their meanings."""
    yield (("States", "role"),)
    for look, meaning in zip(LOOKS, MEANINGS, strict=True):
        yield (
            (f"  {look.glyph} ", look.ink),
            (left(look.word, KEYS - 2), look.ink),
            (meaning, "muted"),
        )
    for glyph, word, meaning in OTHERS:
        yield ((f"  {left(f'{glyph} {word}', KEYS)}", "warn"), (meaning, "muted"))


class Topic(NamedTuple):
    """The subject of a help.

    Args:
        groups: Groups of commands, in order.
        scopes: Scopes of the commands; empty for those of a run, with the signs of its stages.
        here: Scope of the pane with the focus: its commands come first.
        others: Help texts by command id in place of those of the tables; an empty one leaves
            the command out.
    """

    groups: Sequence[str]
    scopes: Collection[str] = ()
    here: Scope = ""
    others: Mapping[str, str] = MappingProxyType({})

    def text(self, command: Command) -> str:
        """The help text of a command; empty where it is left out."""
        usual = UNFOLLOWED.get(command.id, command.help) if self.scopes else command.help
        return self.others.get(command.id, usual)

    def commands(self) -> list[tuple[str, list[Command]]]:
        """The commands of each group, of these scopes only, else of those of a run."""
        listed: dict[str, list[Command]] = {name: [] for name in (HERE, *self.groups)}
        for command in COMMANDS:
            if command.group == ABOVE or not self.text(command):
                continue
            works = command.scope in self.scopes if self.scopes else command.scope not in APART
            if command.scope == self.here or (works and command.group == LISTS.get(self.here)):
                listed[HERE].append(command)
            elif works and command.group in self.groups:
                listed[command.group].append(command)
        return [(name, commands) for name, commands in listed.items() if commands]

    def key_lines(self, keymap: Keymap) -> Iterator[Line]:
        """The lines of `commands`, keys that do the same on one; a blank one between groups."""
        listed = self.commands()
        shown = {one.id: keymap.shown(one) for _, commands in listed for one in commands}
        width = max(KEYS, *(cell_len(keys) + 2 for keys in shown.values()))
        for name, commands in listed:
            yield ((name, "role"),)
            keys: dict[str, list[str]] = {}
            for command in commands:
                text = self.text(command)
                text = PLACE.sub(lambda match: match[1].upper(), text) if name == HERE else text
                keys.setdefault(text, []).append(shown[command.id])
            for text, those in keys.items():
                yield (f"  {left(' '.join(those), width)}", "key"), (text, "")
            if name != listed[-1][0]:
                yield EMPTY

    def lines(self, width: int, keymap: Keymap) -> list[Line]:
        """Keys and signs, in two columns where there is room; no signs for some scopes only."""
        lines = list(self.key_lines(keymap))
        if not self.scopes:
            lines += [EMPTY, *MOUSE, EMPTY, *sign_lines()]
        ends = [at for at, line in enumerate(lines) if not line]
        middle = min(ends, key=lambda at: abs(at - len(lines) // 2), default=len(lines))
        start, end = lines[:middle], lines[middle + 1 :]
        beside = max(map(line_width, start)) + GAP
        if not end or width < beside + max(map(line_width, end)):
            return lines
        return [
            (*one, (" " * (beside - line_width(one)), ""), *other) if other else one
            for one, other in zip_longest(start, end, fillvalue=EMPTY)
        ]


class HelpLines(LineView):
    """The text of the help."""

    def __init__(self, topic: Topic) -> None:
        super().__init__()
        self.topic = topic

    def update(self) -> None:
        self._all_lines = self.topic.lines(self.line_width, IN_USE.get())
        super().update()
        keys = f"{key_for('view.down')} {key_for('view.up')}"
        self.border_subtitle = f"{keys} scroll" if len(self._all_lines) > self.view_height else ""


class Help(Dialog[HelpLines, None]):
    """The help; the keys that opened it close it too."""

    HORIZONTAL_BREAKPOINTS = [(0, "-filled"), (130, "-free")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark", "dismiss", "Close")]
    closes_beside = True

    def __init__(self, topic: Topic) -> None:
        what = "Keys" if topic.scopes else "Keys and signs"
        super().__init__(HelpLines(topic), f"{what} · esc closes")

    def on_key(self, event: events.Key) -> None:
        """The keys that open it, as people set them."""
        if any(event.key in IN_USE.get().keys(one) for one in COMMANDS if one.id.endswith(".help")):
            event.stop()
            self.dismiss()

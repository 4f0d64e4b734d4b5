"""A menu: one thing of a few is chosen by its key, with the cursor, or by a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import BindingType

from tui_eval.printable import one_line
from tui_eval.text.key_names import sign_of
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_list import Picking
from tui_eval.tui.base.look.ink import Line, cut, cut_start, left, line_width

LABEL_MOST, NOTE_MOST = 28, 200


class Item(NamedTuple):
    """A line of a menu; `note` may be text that somebody else wrote, or a path, told by its end."""

    key: str
    label: str
    note: str
    is_path: bool = False


class MenuLines(Picking):
    """The items, one of them under the cursor."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__()
        self.items = items
        self._label = min(max(line_width(((one.label, ""),)) for one in items), LABEL_MOST)

    def count(self) -> int:
        """Items."""
        return len(self.items)

    def line(self, index: int) -> Line:
        """Key, label and note."""
        one, room = self.items[index], max(self.line_width - self._label - 6, 1)
        shorten = cut_start if one.is_path else cut
        return (
            (f" {one.key}  ", "key"),
            (left(one_line(one.label, self._label), self._label), "strong"),
            (f"  {shorten(one_line(one.note, NOTE_MOST), room)}", "muted"),
        )


class Menu(Dialog[MenuLines, int]):
    """Dismissed with the place of the item that was chosen; None for none.

    Args:
        again: The key that opened it, as it is shown: pressed again it chooses what is under the
            cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "Close")]
    closes_beside = True

    def __init__(self, title: str, items: Sequence[Item], again: str) -> None:
        super().__init__(MenuLines(items), title, f"its letter, enter or {again} · esc closes")
        self._again = again

    def on_key(self, event: events.Key) -> None:
        """The items' own keys."""
        keys = [one.key for one in self.box.items]
        if event.character in keys:
            event.stop()
            self.dismiss(keys.index(event.character))
        elif sign_of(event.key) == self._again:
            event.stop()
            self.dismiss(self.box.cursor)

    def on_picking_done(self) -> None:
        """An item was chosen with the cursor or the mouse."""
        self.dismiss(self.box.cursor)

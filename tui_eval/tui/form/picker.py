"""Choosing one of many by typing a part of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Container

from tui_eval.printable import one_line
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.base.look.ink import Line, left, line_width
from tui_eval.tui.form.backend import Offer
from tui_eval.tui.form.texts import readme_lines

NAME_MOST = 32
"""The most cells of a name beside notes."""
NOTE_LEAST = 18
AROUND = 3
"""Lines of a box beside its offers: its border, and the line that is typed on."""
KEYS = {
    "down": "move(1)", "tab": "move(1)", "up": "move(-1)", "shift+tab": "move(-1)",
    "pagedown": "move(10)", "pageup": "move(-10)", "enter": "choose",
}  # fmt: skip


class OfferList(LineList, inherit_bindings=False):
    """A line to type on, and below it the offers with every typed word.

    Args:
        free: Describes the choice of a text that is no offer; None where it is not allowed.
        paths: Whether they are files: an existing path comes before offers with its words.
    """

    heads = 1

    def __init__(
        self, text: str, free: Callable[[str], str] | None, *, paths: bool, id: str
    ) -> None:
        super().__init__(id=id)
        self.typing = TextLine(text, len(text))
        self.offers: Sequence[Offer] = ()
        self.free = free
        self.paths = paths
        self.found: list[Offer] = []
        self.is_waiting = True
        self._is_chosen = False
        """Whether enter was pressed before the offers came."""

    def offer(self, offers: Sequence[Offer], current: str) -> None:
        """Shows offers, the cursor on the current one."""
        self.offers, self.is_waiting = offers, False
        is_chosen = self._is_chosen
        self._filter()
        names = [one.name for one in self.found]
        self.select(names.index(current) if current in names and not self.typing.text else 0)
        if is_chosen:
            self.action_choose()

    def _filter(self) -> None:
        self._is_chosen = False
        text = "" if self.is_waiting else self.typing.text.strip()
        words = text.lower().split()
        found = [
            one for one in self.offers if all(w in f"{one.name} {one.note}".lower() for w in words)
        ]
        self.found = sorted(found, key=lambda one: _distance(one.name, text)) if text else found
        if self.free and text and text not in [one.name for one in found]:
            at = 0 if self.paths and Path(text).is_file() else len(found)
            self.found.insert(at, Offer(text, self.free(text)))
        self.select(0)

    def select(self, index: int) -> None:
        """Puts the cursor on an offer, and shows the next one as well."""
        super().select(index)
        self.show_line(self.cursor, margin=1)
        self.post_message(self.Retitled())

    @property
    def here(self) -> Offer | None:
        """The offer under the cursor."""
        return self.found[self.cursor] if self.found else None

    def head(self, index: int) -> Line:
        label = f"{'path' if self.paths else 'filter':<8}"
        return ((label, "muted"), *self.typing.spans(max(self.line_width - len(label), 1)))

    def count(self) -> int:
        return max(len(self.found), 1)

    def marked(self, index: int) -> bool:
        return bool(self.found) and index == self.cursor

    def line(self, index: int) -> Line:
        if not self.found:
            return (("looking…" if self.is_waiting else "nothing fits", "faint"),)
        one = self.found[index]
        widest = max((line_width(((each.name, ""),)) for each in self.offers), default=8)
        most = max(NAME_MOST, self.line_width - NOTE_LEAST)
        width = max(min(widest, most), line_width(((one.name, ""),)) if self.free else 0)
        note = one_line(one.note, max(self.line_width - width - 2, 1))
        lacks, dot, rest = ("", "", note) if one.good else note.partition(" · ")
        return (
            (left(one.name, width), "strong"),
            ("  ", ""),
            (lacks, "warn"),
            (dot + rest, "muted"),
        )

    async def on_key(self, event: events.Key) -> None:
        """Edits the filter."""
        before = self.typing.text
        if action := KEYS.get(event.key):
            await self.run_action(action)
        elif not type_into(self.typing, event):
            return
        elif self.typing.text != before:
            self._filter()
        else:
            self.update()
        event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Pastes into the filter."""
        event.stop()
        self.typing.insert(event.text.strip())
        self._filter()

    def action_choose(self) -> None:
        """Returns the offer under the cursor."""
        self._is_chosen = self.is_waiting
        if self.here is not None:
            self.screen.dismiss(self.here)

    def clicked(self, index: int) -> None:
        if index == self.cursor:
            self.action_choose()
        else:
            self.select(index)


def _distance(name: str, text: str) -> int:
    """The rank of a name for a typed text: equal, begins with it, has it, has its words."""
    name, text = name.lower(), text.lower()
    return (name != text) + (not name.startswith(text)) + (text not in name)


class Picker(Dialog[Container, Offer]):
    """A list of offers with a text on the one under the cursor.

    Args:
        load: Returns the offers.
        current: The name of the current one.
        about: Returns the text on an offer that has none.
        text: The initial filter.
        free, paths: See `OfferList`.
        how: A hint for typing and enter.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-normal")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(
        self,
        title: str,
        load: Callable[[], Awaitable[Sequence[Offer]]],
        current: str = "",
        *,
        about: Callable[[str], Awaitable[str]] | None = None,
        text: str = "",
        free: Callable[[str], str] | None = None,
        paths: bool = False,
        how: str = "type to filter · enter chooses",
    ) -> None:
        self.list = OfferList(text, free, paths=paths, id="offers")
        self.text = PlainPanel(lambda width: (), id="offer-about")
        box = Container(self.list, self.text, id="picker")
        super().__init__(box, title, f"{how} · esc closes")
        self._load = load
        self._current = current
        self._about = about
        self._abouts: dict[str, str] = {}
        self.set_class(bool(text), "-one")

    def on_mount(self) -> None:
        self.list.focus()
        self.run_worker(self._get(), group="offers")

    async def _get(self) -> None:
        offers = await self._load()
        has_about = bool(self._about or any(one.about for one in offers))
        self.set_class(has_about, "-with-about")
        if not (has_about or self.has_class("-one")):
            lines = max(len(offers) + bool(self.list.free), 1)
            self.box.styles.height = lines + AROUND
        self.list.offer(offers, self._current)

    def on_line_view_retitled(self) -> None:
        """Shows the text on the offer under the cursor."""
        here = self.list.here
        known = (here.about or self._abouts.get(here.name, "")) if here else ""
        if here and self._about and not known and not self.list.is_waiting:
            self._show("…")
            find: Any = partial(self._find_about, here.name)
            self.run_worker(find, group="about", exclusive=True)
        else:
            self._show(known)

    async def _find_about(self, name: str) -> None:
        assert self._about is not None
        text = await self._about(name)
        self._abouts[name] = text
        if self.list.here is not None and self.list.here.name == name:
            self._show(text)

    def _show(self, text: str) -> None:
        self.text.show(lambda width: readme_lines(text, width))
        self.text.jump(0)

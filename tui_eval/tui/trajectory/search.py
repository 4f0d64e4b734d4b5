"""The search of a trajectory: its text, its matches, and the current match."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual import events

from tui_eval.fold.query.patterns import matches_in
from tui_eval.printable import printable_slices
from tui_eval.tui.base.keys.keymap import search_keys
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut
from tui_eval.tui.trajectory.parts import Part

HINT = "words or /expression/ · enter finds · esc closes"
MOST = 10_000
"""The most matches that are counted."""
LONGEST = 400


class Match(NamedTuple):
    """The place of a match: part, text, and the range in the printable text."""

    part: int
    name: str
    start: int
    end: int


class Search:
    """The state of a search; `typing` is None where nothing is being typed."""

    def __init__(self) -> None:
        self.typing: TextLine | None = None
        self.typed = self.source = ""
        """The search as it was typed and as an expression; empty for none."""
        self.is_busy = False
        self.trouble = ""
        self.matches: list[Match] = []
        self.current = -1
        self._by_part: dict[int, list[Match]] = {}

    @property
    def is_on(self) -> bool:
        """Whether a search is typed or active."""
        return self.typing is not None or bool(self.typed)

    @property
    def here(self) -> Match | None:
        """The current match."""
        return self.matches[self.current] if 0 <= self.current < len(self.matches) else None

    def open(self) -> None:
        """Begins typing; the search before stays active until then."""
        self.typing = TextLine()

    def clear(self) -> None:
        """Ends the search."""
        self.typing, self.typed, self.source = None, "", ""
        self.forget()

    def forget(self) -> None:
        """Forgets the matches."""
        self.matches, self._by_part, self.current = [], {}, -1
        self.trouble, self.is_busy = "", False

    def take_key(self, event: events.Key) -> bool:
        """Takes a key while typing; returns whether the text is complete."""
        typing = self.typing or TextLine()
        if event.key == "enter":
            self.typing, typed = None, typing.text
            typed = typed if typed.strip() else self.typed
            if not typed:
                return False
            self.forget()
            self.typed = typed
            self.source, self.trouble = expression_of(typed)
            return not self.trouble
        if event.key == "escape" or (event.key == "backspace" and not typing.text):
            self.typing = None
        elif len(typing.text) < LONGEST or not event.is_printable:
            type_into(typing, event)
        return False

    def take_text(self, text: str) -> None:
        """Takes pasted text while typing, as far as there is room."""
        if self.typing is not None:
            shown = "".join(filter(str.isprintable, text))
            self.typing.insert(shown[: LONGEST - len(self.typing.text)])

    def found(self, matches: list[Match], trouble: str) -> None:
        """Takes the results of `search_parts`."""
        here = self.here
        self.is_busy, self.matches, self.trouble = False, matches, trouble
        # The end may be another one where the text has grown.
        where = (at for at, one in enumerate(matches) if here and one[:3] == here[:3])
        self.current = next(where, -1)
        self._by_part = {}
        for match in matches:
            self._by_part.setdefault(match.part, []).append(match)

    @property
    def matches_may_come(self) -> bool:
        """Whether later text of a trajectory may have matches."""
        return bool(self.source) and not self.trouble

    def in_part(self, part: int) -> Sequence[Match]:
        """The matches in a part."""
        return self._by_part.get(part, ())

    def step(self, by: int, part: int) -> Match | None:
        """The next or previous match, around the end; the first one is that at or after `part`."""
        if self.is_busy or not self.matches:
            return None
        if self.current < 0:
            behind = (at for at, one in enumerate(self.matches) if one.part >= part)
            first = next(behind, 0)
            self.current = first if by > 0 else (first - 1) % len(self.matches)
        else:
            self.current = (self.current + by) % len(self.matches)
        return self.here

    def foot(self, width: int, focused: bool) -> Line:
        """The line at the foot of the pane."""
        if self.typing is not None:
            room = max(width - 3, 8)
            spans: list[Span] = [("/", "key"), *self.typing.spans(room)]
            if not self.typing.text and width > len(HINT) + 6:
                spans.append((f"  {HINT}", "faint"))
            return tuple(spans)
        if not self.typed:
            return EMPTY
        end, ink = self._counted()
        room = max(width - len(end) - 4, 4)
        typed = cut(self.typed, room)
        hints = search_keys("trajectory", bool(self.matches)) if focused else ()
        keys = next((f"   {keys}" for keys in hints if cell_len(typed + keys) + 3 <= room), "")
        return (("/", "key"), (typed, ""), (f"  {end}", ink), (keys, "faint"))

    def _counted(self) -> tuple[str, str]:
        if self.trouble:
            return f"✗ {self.trouble}", "bad"
        if self.is_busy:
            return "finding…", "muted"
        if not self.matches:
            return "– nothing found", "warn"
        more = "+" if len(self.matches) >= MOST else ""
        return f"{self.current + 1:,}/{len(self.matches):,}{more}", "strong"


def search_parts(source: str, parts: Sequence[Part]) -> tuple[list[Match], str]:
    """The matches in the texts of parts, and a fault; takes long."""
    places: list[tuple[int, str]] = []
    texts: list[str] = []
    for at, part in enumerate(parts):
        if part.coming is not None:
            continue
        if part.tool is not None:
            places.append((at, "name"))
            texts.append(part.tool.name)
        for block in part.blocks():
            places.append((at, block.name))
            texts.append(block.text)
    shown = [printable_slices(text.strip("\r\n")) for text in texts]
    try:
        found = matches_in(source, shown, MOST)
    except OSError as error:
        return [], str(error)
    return [Match(*places[text], start, end) for text, start, end in found], ""


def expression_of(typed: str) -> tuple[str, str]:
    """The regular expression for a typed search, and a fault; one of both is empty.

    Args:
        typed: `/expression/`, or adjacent words; case does not matter.
    """
    if not (len(typed) > 2 and typed.startswith("/") and typed.endswith("/")):
        return r"\s+".join(map(re.escape, typed.split())), ""
    try:
        re.compile(typed[1:-1])
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return "", str(error)
    return typed[1:-1], ""

"""The lines over a list where its filter is typed and shown."""

from __future__ import annotations

import re
from itertools import accumulate

from tui_eval.tui.base.lines.text_line import TextLine
from tui_eval.tui.base.look.ink import Line, Span, cut, line_width, spread
from tui_eval.tui.base.look.wrap import hanging
from tui_eval.tui.run.rollouts.listing import Listing

ERRORS = "state:error"
WORDS = ("word", "!word")
"""The plain words of a filter, which hints leave out first."""
HINTS = (*WORDS, "/regex/", "ex=7", "reward<1", "tool:add", "error:key", "tag:odd", "text:fox")
FAULT_LINES = 3
_WORD = re.compile(r".\S*", re.DOTALL)
LAST_GOOD_LEAST = 50
"""The narrowest list that says that it still shows the last good filter."""


def with_errors_only(text: str) -> str:
    """The filter with errors only, or without that where it had it."""
    if text == ERRORS:
        return ""
    if text.startswith("(") and text.endswith(f") {ERRORS}"):
        return text[1 : -len(ERRORS) - 2]
    return f"({text}) {ERRORS}" if text else ERRORS


class FilterEntry:
    """The text of a filter, applied while it is typed, and the lines that show it."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.typed = TextLine()
        self.is_open = False
        self._room = 4

    def open(self) -> None:
        """Begins typing."""
        self.is_open = True
        self.typed.put(self.listing.text)

    def click(self, x: int) -> None:
        """Puts the caret at a cell of the line."""
        self.typed.click(x - 2, self._room)

    def lines(self, width: int, focused: bool) -> list[Line]:
        """The filter with its number of matches; below it a fault, or the progress."""
        listing = self.listing
        if not self.is_open and not listing.text:
            return []
        state = listing.state
        total = state.expected if state.has_gaps else state.total
        is_known = total and (listing.wanted is not None or not listing.faults)
        count = f"{listing.count():,} of {total:,}" if is_known else ""
        if count and listing.faults and width >= LAST_GOOD_LEAST:
            count += " · last good filter"
        clears = (("  esc", "key"), (" clears", "faint")) if focused and not self.is_open else ()
        end: Line = (*clears, (f"  {count}", "strong"))
        room = self._room = max(width - line_width(end) - 2, 4)
        shown = self.typed.spans(room) if self.is_open else ((cut(listing.text, room), ""),)
        at = self.typed.caret - len(shown[0][0]) if self.is_open else 0
        found = [spread((("/ ", "key"), *self._marked(shown, at)), end, width, least=0)]
        hint: list[Line] = [((_hint(width), "faint"),)] if self.is_open else []
        return [*found, *(self._progress_line(width) or hint)]

    def _marked(self, spans: Line, at: int) -> list[Span]:
        """The text from `at` on, its faults marked from the column of each to the next space."""
        found: list[Span] = []
        words = (_WORD.match(self.listing.text, column) for column, _ in self.listing.faults)
        bad = {place for word in words if word for place in range(*word.span())}
        for text, ink in spans:
            for place, sign in enumerate(text, at):
                found.append((sign, "bad" if place in bad and not ink else ink))
            at += len(text)
        return found

    def _progress_line(self, width: int) -> list[Line]:
        listing, search = self.listing, self.listing.search
        progress = search.progress if search is not None else None
        so_far = unread = ""
        if progress is not None:
            so_far = f"{progress.searched:,} of {progress.total:,}"
            unread = f"{progress.unread:,} not readable" if progress.unread else ""
        stopped: list[Line] = []
        if search is not None and search.is_given_up and so_far:
            text = f"‖ stopped after {so_far} trajectories"
            stopped = [((f"{text} · {unread}" if unread else text, "warn"),)]
        if listing.faults:
            column, text = listing.faults[0]
            return [*_fault(f"character {column + 1}: {text}", width), *stopped]
        if not listing.may_search:
            return []
        if search is None:
            return [(("… trajectories will be searched", "muted"),)]
        if search.fault:
            return _fault(f"trajectories cannot be searched any more: {search.fault}", width)
        if progress is None:
            return [(("… searching trajectories", "busy"),)] if listing.is_searching else []
        if listing.is_searching:
            text = f"… searched {so_far} · {progress.found:,} found"
            return [spread(((text, "busy"),), (("  esc", "key"), (" cancels", "faint")), width)]
        return stopped or ([((f"! {unread}", "warn"),)] if unread else [])


def _fault(text: str, width: int) -> list[Line]:
    return hanging(("✗ ", "bad"), text, "fault", width, FAULT_LINES)


def _hint(width: int) -> str:
    """Examples of filters, as many as fit whole."""
    *some, most = accumulate(HINTS[len(WORDS) :], lambda before, one: f"{before}  {one}")
    fitting = ("  ".join(HINTS), most, *(f"{text}  …" for text in reversed(some)))
    return next((text for text in fitting if len(text) <= width), "")

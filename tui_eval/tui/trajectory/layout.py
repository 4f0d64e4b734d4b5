"""Positions of the parts of a long trajectory: estimated until they are seen, then exact."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate

from tui_eval.tui.trajectory.marking import Texts
from tui_eval.tui.trajectory.parts import Part
from tui_eval.tui.trajectory.piece import USUAL, Piece, View

KEPT = 512
"""The most pieces whose lines are cached."""

ESTIMATED, EXACT, MEASURED = range(3)


class Layout:
    """Heights of all parts, and the lines of those seen last."""

    def __init__(self) -> None:
        self.parts: Sequence[Part] = ()
        self.views: dict[int, View] = {}
        self.width = 0
        self._keys: list[Hashable] = []
        self._measured: dict[int, int] = {}
        self._heights: list[int] = []
        self._exact = bytearray()
        self._starts: list[int] | None = None
        self._pieces: dict[int, tuple[Hashable, Texts]] = {}

    def take(self, parts: Sequence[Part], width: int) -> None:
        """Takes new parts; unchanged ones keep their heights."""
        self.commit()
        before, heights, exact = self._keys, self._heights, self._exact
        same_width = width == self.width
        self.parts, self.width = parts, width
        views = [self.views.get(at, USUAL) for at in range(len(parts))]
        self._keys = [(one.key, one.gap, view) for one, view in zip(parts, views, strict=True)]
        self._heights, self._exact = [0] * len(parts), bytearray(len(parts))
        for at, key in enumerate(self._keys):
            if same_width and at < len(before) and before[at] == key:
                self._heights[at], self._exact[at] = heights[at], exact[at]
            else:
                part = parts[at]
                self._heights[at] = part.about_height(views[at], width) + part.gap
        self._starts = None

    @property
    def starts(self) -> list[int]:
        """The first line of every part, and the number of all lines behind them."""
        if self._starts is None:
            self._starts = [0, *accumulate(self._heights)]
        return self._starts

    def __len__(self) -> int:
        return self.starts[-1]

    def at(self, line: int) -> int:
        """The part that a line belongs to."""
        return min(max(bisect_right(self.starts, line) - 1, 0), max(len(self.parts) - 1, 0))

    def span(self, at: int) -> tuple[int, int]:
        """First line of a part and the one after its last."""
        return self.starts[at], self.starts[at + 1]

    def piece(self, at: int) -> Piece:
        """The layout of a part; its height is exact from now on."""
        return self.texts(at).piece

    def texts(self, at: int) -> Texts:
        """The texts of a part, for its layout."""
        key = (self._keys[at], self.width)
        kept = self._pieces.get(at)
        if kept is not None and kept[0] == key:
            return kept[1]
        part = self.parts[at]
        texts = Texts(part.lay_out(self.views.get(at, USUAL), self.width))
        self._pieces.pop(at, None)  # to be the newest, as Textual's caches do not
        self._pieces[at] = key, texts
        if len(self._pieces) > KEPT:
            del self._pieces[next(iter(self._pieces))]
        height = len(texts.piece.lines) + part.gap
        if height != self._heights[at]:
            self._heights[at] = height
            self._starts = None
        self._exact[at] = EXACT
        return texts

    def settle(self, top: int, height: int) -> int:
        """Makes the visible lines and a screen above exact; returns where `top` is then."""
        if not self.parts:
            return 0
        here = self.at(top)
        inside = top - self.starts[here]
        self.settle_above(here, height)
        below, at = -inside, here
        while at < len(self.parts) and below < height:
            below += self._settled(at)
            at += 1
        inside = min(inside, max(self._heights[here] - 1, 0))
        return self.starts[here] + inside

    def settle_above(self, at: int, height: int) -> None:
        """Makes a screen of parts before one exact."""
        while at > 0 and height > 0:
            at -= 1
            height -= self._settled(at)

    def _settled(self, at: int) -> int:
        if self._exact[at] != EXACT:
            self.piece(at)
        return self._heights[at]

    @property
    def is_exact(self) -> bool:
        """Whether no height is estimated any more."""
        return self._exact.count(EXACT) == len(self.parts)

    def measure(self, near: int, seconds: float) -> bool:
        """Measures some more parts, those from `near` on first; whether all are, for `commit`."""
        end = time.perf_counter() + seconds
        look: tuple[Callable[[], int], ...] = (
            lambda: self._exact.find(ESTIMATED, near),
            lambda: self._exact.rfind(ESTIMATED, 0, near),
        )
        for next_one in look:
            while (at := next_one()) >= 0:
                if time.perf_counter() > end:
                    return False
                part = self.parts[at]
                lines = part.lay_out(self.views.get(at, USUAL), self.width).lines
                self._measured[at] = len(lines) + part.gap
                self._exact[at] = MEASURED
        return True

    def commit(self) -> None:
        """Applies the measured heights."""
        for at, height in self._measured.items():
            if self._exact[at] == MEASURED:
                self._exact[at] = EXACT
                if self._heights[at] != height:
                    self._heights[at] = height
                    self._starts = None
        self._measured.clear()

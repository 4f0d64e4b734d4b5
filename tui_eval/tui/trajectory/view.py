"""Draws one rollout's trajectory: layout, highlights and marks, as far as it is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.strip import Strip

from tui_eval.tui.base.lines.line_list import PieceView
from tui_eval.tui.base.look.ink import EMPTY, Line
from tui_eval.tui.base.ticker import after
from tui_eval.tui.trajectory.layout import Layout
from tui_eval.tui.trajectory.parts import Part, parts_of, set_apart, tail_of
from tui_eval.tui.trajectory.search import Search

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout

INK_S = 0.001
"""Seconds that a frame may highlight: the next frames do the rest."""
SLICE_S = 0.003
"""Seconds for which heights of unseen parts are measured in one go."""
FRAME_S = 1 / 60
SOON_S = 1 / 30
CALM_S = 0.15
"""Seconds without scrolling before heights of unseen parts are measured."""


class TrajectoryView(PieceView):
    """Pieces that get a layout when they come into sight; may stick to the end."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rollout: Rollout | None = None
        self.empty: tuple[Line, ...] = ()
        self.note = ""
        self.is_over = False
        self.sticks = False
        self.search = Search()
        self._layout = Layout()
        self._taken: Hashable = None
        self._parts: tuple[Hashable, list[Part]] = (None, [])
        self._inked: dict[int, Line] = {}
        self._ink_from = self._ink_until = 0.0
        self._calm_from = 0.0
        self._is_settling = False
        self._due: set[Callable[[], None]] = set()
        self._seen = 0

    def count(self) -> int:
        """Lines of the whole trajectory as it is folded; estimated for unseen parts."""
        return len(self.empty) if self.rollout is None else len(self._layout)

    @property
    def selected_part(self) -> Part | None:
        """The piece under the cursor."""
        parts = self._layout.parts
        return parts[self.cursor] if self.cursor < len(parts) else None

    def line(self, index: int) -> Line:
        if self.rollout is None:
            return self.empty[index]
        if index in self._inked:
            return self._inked[index]
        at = self._layout.at(index)
        texts, inner = self._layout.texts(at), index - self._layout.starts[at]
        if not 0 <= inner < len(texts.piece.lines):
            return EMPTY
        search = self.search
        line, is_whole = texts.line(inner, search.in_part(at), search.here, self._has_ink_time)
        if is_whole:
            self._inked[index] = line
        else:
            self._soon(self._highlight)
        return line

    def _begin_to_ink(self) -> None:
        """Begins the time for highlighting, once a frame."""
        now = time.perf_counter()
        if now >= self._ink_from + FRAME_S:
            self._ink_from, self._ink_until = now, now + INK_S

    def _has_ink_time(self) -> bool:
        return time.perf_counter() < self._ink_until

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of a region, highlighted as far as a frame has time for it."""
        self._begin_to_ink()
        return super().render_lines(crop)

    def foot(self) -> tuple[Line, ...]:
        line = self.search.foot(self.line_width, self.has_focus)
        return (line,) if line else ()

    def pieces(self) -> int:
        return len(self._layout.parts) if self.rollout is not None else 0

    def piece_at(self, line: int) -> int:
        return self._layout.at(line)

    def span(self, piece: int) -> tuple[int, int]:
        """The lines of a part; estimated for an unseen one."""
        return self._layout.span(piece)

    def gap(self, piece: int) -> int:
        return int(self._layout.parts[piece].gap)

    def hold(self, piece: int) -> None:
        """Selects a part, and makes its height exact."""
        self.cursor = piece
        self._layout.piece(piece)

    def update(self) -> None:
        self._begin_to_ink()
        # To be shown again where lines are wrapped to another width.
        place = self._place() if self.line_width != self._layout.width else None
        if self.rollout is not None:
            self._take(self.rollout)
        self._settle()
        super().update()
        if place is not None and place[0] < self.pieces():
            start, end = self._layout.span(place[0])
            self.jump(start + int((end - start) * place[1]))
        if self.sticks:
            self._to_end()

    def _take(self, rollout: Rollout) -> None:
        coming = rollout.coming
        taken: Hashable = (
            rollout.row, rollout.version, rollout.finished, self.note, self.is_over,
            self.line_width,
            tuple(self._layout.views.items()),
            None if coming is None else (coming.call, coming.version),
        )  # fmt: skip
        if taken == self._taken:
            return
        self._taken = taken
        version = (rollout.version, rollout.finished, self.is_over)
        if version != self._parts[0]:
            self._parts = version, parts_of(rollout, self.is_over)
        parts = self._parts[1] + tail_of(rollout, self.note, self._parts[1], self.is_over)
        set_apart(parts)
        self._layout.take(parts, self.line_width)
        self._inked.clear()
        self.cursor = min(self.cursor, max(len(parts) - 1, 0))
        new = len(parts) - self._seen
        self.pill = f"▼ {new} new" if new > 0 and self._seen and not self.sticks else ""
        if self.sticks or not self._seen or rollout.finished:
            self._seen = len(parts)
            self.pill = ""

    def _settle(self) -> None:
        """Makes the visible parts exact, without moving the first line."""
        if self.rollout is None or self._is_settling:
            return
        self._is_settling = True
        try:
            before = self._layout.starts
            top = self._layout.settle(self.scroll_offset.y, self.view_height)
            self._moved(before, top)
        finally:
            self._is_settling = False
        if not self._layout.is_exact:
            self._soon(self._measure)

    def _moved(self, before: list[int], top: int) -> None:
        """Takes in changed heights: the first line is at `top` now."""
        if before is self._layout.starts:
            return
        self._inked.clear()
        self.fit()
        if top != self.scroll_offset.y:
            self.jump(top)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Makes the layout of parts that come into sight."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            if not self.sticks:
                self._calm_from = time.perf_counter() + CALM_S
            self._settle()

    def _soon(self, do: Callable[[], None], seconds: float = SOON_S) -> None:
        if do not in self._due and self.is_mounted:
            self._due.add(do)
            after(seconds, self, do)

    def _highlight(self) -> None:
        """Highlights the rest, unless other frames will."""
        self._due.discard(self._highlight)
        wait = self._ink_from + SOON_S - time.perf_counter()
        if wait > 0:
            self._soon(self._highlight, wait)
        else:
            self.update()

    def _measure(self) -> None:
        """Measures some more heights, once nobody scrolls."""
        self._due.discard(self._measure)
        if self.rollout is None or self._layout.is_exact:
            return
        wait = self._calm_from - time.perf_counter()
        if wait > 0:
            self._soon(self._measure, wait)
            return
        before = self._layout.starts
        here = self._layout.at(self.scroll_offset.y)
        inside = self.scroll_offset.y - before[here]
        if not self._layout.measure(here, SLICE_S):
            self._soon(self._measure)
            return
        self._layout.commit()
        self._moved(before, self._layout.starts[here] + inside)
        self.update()

    @property
    def has_layout(self) -> bool:
        """Whether the layout is final until somebody acts."""
        return not (self._due or self.search.is_busy)

    def _place(self) -> tuple[int, float] | None:
        """The first visible piece and its share above the view; None without pieces."""
        if self.rollout is None or not self._layout.parts:
            return None
        top = self.scroll_offset.y
        at = self._layout.at(top)
        start, end = self._layout.span(at)
        return at, (top - start) / max(end - start, 1)

    def _to_end(self) -> None:
        self._seen = len(self._layout.parts)
        if self.pill:
            self.pill = ""
        self.cursor = max(len(self._layout.parts) - 1, 0)
        if self.rollout is not None:
            before = self._layout.starts
            self._layout.settle_above(len(self._layout.parts), self.view_height)
            self._moved(before, self.scroll_offset.y)
        if not self.at_end:
            self.jump(self.max_scroll_y)

    def stick(self) -> None:
        """Goes to the end and stays there while the trajectory grows."""
        self.sticks = True
        self._to_end()
        self.update()

    def let_go(self) -> None:
        """Stays where it is while the trajectory grows."""
        self.sticks = False

    def put(self) -> None:
        """Stops following the end, too."""
        self.let_go()
        super().put()

"""The trajectory of one rollout: its messages, tool calls with their results, and its end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.cache import LRUCache

from tui_eval.tui.commands import bindings
from tui_eval.tui.ink import EMPTY, Line
from tui_eval.tui.story import (
    STEP,
    TEXT_LINES,
    Piece,
    ending,
    piece_of,
    sleeping,
    turn_head,
)
from tui_eval.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from tui_eval.fold.transcript import Entry, Rollout

NOTHING_YET: Line = (("no messages yet", "faint"),)


class Trajectory(LineView):
    """Pieces under a cursor that can be folded; sticks to the end while it is told to."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("story")

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rollout: Rollout | None = None
        self.empty: tuple[Line, ...] = ()
        self.note = ""
        self.sticks = False
        self.cursor = 0
        self._limits: dict[int, int] = {}
        self._laid_out: Hashable = None
        self._wrapped_to = 0
        self._pieces: list[Piece] = []
        self._starts: list[int] = []
        self._lines: list[Line] = []
        self._cache: LRUCache[Hashable, Piece] = LRUCache(4096)
        self._seen = 0

    def count(self) -> int:
        """Lines of the whole story, folded as it is."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """One line of the story."""
        return self._lines[index]

    def marked(self, index: int) -> bool:
        """The lines of the selected piece, but for the blank one after it."""
        return (
            self.rollout is not None
            and bool(self._pieces)
            and self._piece_at(index) == self.cursor
            and bool(self.line(index))
        )

    def _piece_at(self, index: int) -> int:
        return bisect_right(self._starts, index) - 1

    def show(self, rollout: Rollout | None, *, anew: bool, sticks: bool = False) -> None:
        """Shows a rollout.

        Args:
            rollout: None while there is nothing to show; `empty` is shown then.
            anew: False where it is the same rollout as before, now read from disk: the view stays.
            sticks: Whether the view follows its end.
        """
        self.rollout = rollout
        if anew:
            self._limits.clear()
            self._cache.clear()
            self.cursor = 0
            self.sticks = sticks
            self._seen = 0
            self.pill = ""
        self.update()
        if anew:
            self.jump(0)
            if sticks or (rollout is not None and rollout.error):
                self._to_end()

    def update(self) -> None:
        """Lays out what is new and draws what changed."""
        rollout = self.rollout
        facts: Hashable = (
            None
            if rollout is None
            else (rollout.row, rollout.version, rollout.finished, tuple(self._limits.items())),
            self.note,
            self.line_width,
            self.empty if rollout is None else None,
        )
        place = self._place() if self.line_width != self._wrapped_to else None
        if facts != self._laid_out:
            self._laid_out = facts
            self._wrapped_to = self.line_width
            self._lay_out()
        super().update()
        if place is not None:
            self._go_back(*place)
        if self.sticks:
            self._to_end()

    def _place(self) -> tuple[int, float] | None:
        """The piece that stands first and how much of it is above; None for no pieces."""
        if not self._pieces:
            return None
        top = self.scroll_offset.y
        piece = self._piece_at(top)
        start, end = self._span(piece)
        return piece, (top - start) / max(end - start, 1)

    def _go_back(self, piece: int, above: float) -> None:
        """Shows a place again after the lines were wrapped to another width."""
        if piece < len(self._pieces):
            start, end = self._span(piece)
            self.jump(start + int((end - start) * above))

    def _lay_out(self) -> None:
        rollout = self.rollout
        if rollout is None:
            self._pieces = [Piece(self.empty)] if self.empty else []
        else:
            self._pieces = self._pieces_of(rollout)
        self._starts, self._lines = [], []
        for piece in self._pieces:
            self._starts.append(len(self._lines))
            self._lines.extend(piece.lines)
        self.cursor = min(self.cursor, max(len(self._pieces) - 1, 0))
        new = len(self._pieces) - self._seen
        self.pill = f"▼ {new} new" if new > 0 and self._seen and not self.sticks else ""
        if self.sticks or not self._seen or (rollout is not None and rollout.finished):
            self._seen = len(self._pieces)
            self.pill = ""

    def _pieces_of(self, rollout: Rollout) -> list[Piece]:
        steps = dict(enumerate(rollout.steps, 1))
        pieces: list[Piece] = []
        turn = 0
        for entry in rollout.entries():
            step = steps.get(entry.turn) if entry.turn > turn else None
            if entry.turn > turn and entry.tool is not None:
                pieces.append(turn_head(entry.turn, step, self.line_width))
                self._part(pieces)
                step = None
            turn = max(turn, entry.turn)
            limit = self._limits.get(len(pieces))
            pieces.append(self._piece(entry, step, limit, not rollout.finished))
            self._part(pieces)
        if not pieces and not rollout.finished:
            pieces.append(Piece((NOTHING_YET, EMPTY)))
        if self.note and not rollout.finished:
            pieces.append(sleeping(self.note, self.line_width))
            self._part(pieces)
        if rollout.finished:
            pieces.append(ending(rollout, self._limits.get(len(pieces)), self.line_width))
            self._part(pieces)
        return pieces

    def _part(self, pieces: list[Piece]) -> None:
        """Parts a message from what follows by a blank line, but not from its tool calls."""
        if len(pieces) < 2:
            return
        before, piece = pieces[-2], pieces[-1]
        if piece.is_tool and not before.is_tool and before.turn == piece.turn:
            pieces[-2] = replace(before, lines=before.lines[:-1])
        elif before.is_tool and not piece.is_tool:
            pieces[-2] = replace(before, lines=(*before.lines, EMPTY))

    def _piece(
        self, entry: Entry, step: dict[str, Any] | None, limit: int | None, live: bool
    ) -> Piece:
        use = entry.tool
        key: Hashable = (
            (entry.role, entry.turn, entry.text, entry.reasoning)
            if use is None
            else (entry.turn, use.name, use.arguments, use.result, use.ms, use.error, live),
            str(step) if step else None,
            limit,
            self.line_width,
        )
        piece = self._cache.get(key)
        if piece is None:
            piece = self._cache[key] = piece_of(entry, step, limit, self.line_width, live)
        return piece

    def _to_end(self) -> None:
        self._seen = len(self._pieces)
        if self.pill:
            self.pill = ""
        self.cursor = max(len(self._pieces) - 1, 0)
        if not self.at_end:
            self.jump(self.max_scroll_y)

    def stick(self) -> None:
        """Goes to the end and stays there while the story grows."""
        self.sticks = True
        self._to_end()
        self.update()

    def let_go(self) -> None:
        """Stays where it is while the story grows."""
        self.sticks = False

    def put(self) -> None:
        """Lets go of the end, too."""
        self.let_go()
        super().put()

    def scroll_lines(self, lines: int) -> None:
        """Scrolls, and takes the cursor along into what can be seen."""
        super().scroll_lines(lines)
        self.call_after_refresh(self._catch_cursor)

    def _catch_cursor(self) -> None:
        if not self._pieces:
            return
        top = self.scroll_offset.y
        bottom = min(top + self.view_height, self.count()) - 1
        first, last = self._piece_at(top), self._piece_at(max(bottom, 0))
        if self._starts[first] < top and first < last:
            first += 1
        self.cursor = min(max(self.cursor, first), last)
        self.update()

    def _span(self, piece: int) -> tuple[int, int]:
        """First line of a piece and the one after its last."""
        start = self._starts[piece]
        return start, start + len(self._pieces[piece].lines)

    def _select(self, piece: int) -> None:
        self.cursor = min(max(piece, 0), max(len(self._pieces) - 1, 0))
        if self._pieces:
            start, end = self._span(self.cursor)
            self.show_line(min(end - 1, start + self.view_height - 1))
            self.show_line(start)
        self.update()

    def action_move(self, by: int) -> None:
        """Selects the next or previous piece, or scrolls within one that does not fit."""
        if not self._pieces:
            return
        if by < 0:
            self.put()
        start, end = self._span(self.cursor)
        top, height = self.scroll_offset.y, self.view_height
        if by > 0 and end > top + height:
            self.jump(top + 1)
        elif by < 0 and start < top:
            self.jump(top - 1)
        else:
            self._select(self.cursor + by)

    def action_top(self) -> None:
        """Selects the first piece."""
        self.put()
        self._select(0)
        self.jump(0)

    def action_bottom(self) -> None:
        """Goes to the end; a running rollout is followed from there."""
        self.stick()
        if self.rollout is None or self.rollout.finished:
            self.let_go()

    def pill_clicked(self) -> None:
        """Follows again."""
        self.action_bottom()

    def action_turn(self, by: int) -> None:
        """Selects the first piece of the next or previous turn."""
        if not self._pieces:
            return
        if by < 0:
            self.put()
        turns = [piece.turn for piece in self._pieces]
        here = turns[self.cursor]
        if by > 0:
            wanted = min((turn for turn in turns if turn > here), default=here)
        else:
            wanted = max((turn for turn in turns if turn < here), default=here)
        self._select(turns.index(wanted))

    def action_switch_fold(self) -> None:
        """Unfolds the selected piece, shows more of it, or folds it when all is shown."""
        piece = self._selected()
        if piece is None:
            return
        folded = piece.is_tool and len(piece.lines) <= 2 and self._limits.get(self.cursor, 0) == 0
        if piece.hidden or (folded and piece.lines[0]):
            self.action_unfold()
        elif not piece.is_tool and self.cursor in self._limits:
            self._set_limit(None)
        else:
            self.action_fold()

    def action_unfold(self) -> None:
        """Shows more of the selected piece."""
        piece = self._selected()
        if piece is None:
            return
        limit = self._limits.get(self.cursor)
        if limit is None or limit <= 1:
            shown = len(piece.lines)
            self._set_limit(TEXT_LINES if shown < TEXT_LINES else shown + STEP)
        elif piece.hidden:
            self._set_limit(limit + STEP)

    def action_fold(self) -> None:
        """Folds the selected piece to one line."""
        if (piece := self._selected()) is not None:
            self._set_limit(0 if piece.is_tool else 1)

    def action_fold_tools(self) -> None:
        """Unfolds every tool call, or folds them all if any is unfolded."""
        tools = [at for at, piece in enumerate(self._pieces) if piece.is_tool]
        any_open = any(self._limits.get(at, 0) > 0 for at in tools)
        for at in tools:
            self._limits[at] = 0 if any_open else TEXT_LINES
        self.update()
        self._select(self.cursor)

    def _selected(self) -> Piece | None:
        piece = self._pieces[self.cursor] if self._pieces else None
        return piece if piece is not None and piece.folds else None

    def _set_limit(self, limit: int | None) -> None:
        self.let_go()
        if limit is None:
            self._limits.pop(self.cursor, None)
        else:
            self._limits[self.cursor] = limit
        self.update()
        start, _ = self._span(self.cursor)
        if start < self.scroll_offset.y:
            self.jump(start)

    def clicked(self, index: int) -> None:
        """Selects a piece; a click on its head or on what says that there is more toggles it."""
        piece = self._piece_at(index)
        start, _ = self._span(piece)
        shown = self._pieces[piece]
        self.cursor = piece
        text = "".join(text for text, _ in self.line(index)).lstrip(" │")
        if (shown.is_tool and index == start) or (shown.hidden and text.startswith("…")):
            self.action_switch_fold()
        self.update()

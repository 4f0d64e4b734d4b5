"""The trajectory of one rollout: its messages, tool calls with their results, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType

from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_view import ALL_SHOWN, NO_SEARCH, NOT_FOLDED
from tui_eval.tui.trajectory.layout import Layout
from tui_eval.tui.trajectory.parts import Part
from tui_eval.tui.trajectory.piece import STEP, USUAL, Piece, View
from tui_eval.tui.trajectory.rendering import TEXT_LINES
from tui_eval.tui.trajectory.search import Match, search_parts
from tui_eval.tui.trajectory.view import TrajectoryView

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Rollout

DEEP = 5_000
"""Lines of a text before a match beyond which it is shown without those."""


class TrajectoryPane(TrajectoryView):
    """A trajectory with a cursor on its pieces, which fold, and with a search."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("trajectory")

    _found_in: Hashable = None
    """The version of the trajectory that was searched last."""
    _is_finding = False

    _shown_word = ""
    """The footer word of enter that was reported last."""

    def show(self, rollout: Rollout | None, *, reset: bool, sticks: bool = False) -> None:
        """Shows a rollout.

        Args:
            rollout: None while there is nothing to show; `empty` is shown then.
            reset: False for the same rollout, now read from disk: the view stays.
            sticks: Whether the view follows its end.
        """
        self.rollout = rollout
        self._parts = None, []
        self._is_finding = bool(self.search.source)  # at the end of this, and once
        if reset:
            self._layout = Layout()
            self._taken = None
            self.cursor = 0
            self.sticks = sticks
            self._seen = 0
            self.pill = ""
            if self.search.source:
                self.search.forget()
        self.update()
        if reset:
            self.jump(0)
            if sticks:
                self._to_end()
            elif rollout is not None and rollout.error:
                self.select_piece(len(self._layout.parts) - 1)
        if self.search.source:
            self._look_through(begins=True)

    def update(self) -> None:
        """Draws changes, and searches the new text of a running rollout."""
        super().update()
        version = self._parts[0]
        if version != self._found_in and self.search.matches_may_come and not self._is_finding:
            self._look_through()
        if self.has_focus and (word := self.fold_word) != self._shown_word:
            self._shown_word = word
            self.post_message(self.Retitled())

    def _show_wanted(self) -> None:
        """Shows the selected piece once there is room for lines."""
        if self._line_wanted is not None:
            self.select_piece(self.cursor)

    def leave_end(self, by: int) -> None:
        """Stops following on a move up."""
        if by < 0:
            self.put()

    def action_bottom(self) -> None:
        """Goes to the end; a running rollout is followed from there."""
        self.stick()
        if self.rollout is None or self.rollout.finished:
            self.let_go()

    def action_turn(self, by: int) -> None:
        """Selects the first piece of the next or previous turn."""
        if not self._layout.parts:
            return
        turns = [part.turn for part in self._layout.parts]
        here = turns[self.cursor]
        if others := [turn for turn in turns if (turn > here if by > 0 else turn < here)]:
            self._go_to(turns.index(min(others) if by > 0 else max(others)), by)
        else:
            self.post_message(self.Missed("There is no other turn this way."))

    def action_tool_call(self, by: int) -> None:
        """Selects the next or previous tool call."""
        self._go_to_next(by, lambda part: part.is_tool, "There is no other tool call this way.")

    @property
    def has_failure(self) -> bool:
        """Whether there is any failure."""
        return any(part.failed for part in self._layout.parts)

    def action_failure(self, by: int) -> None:
        """Selects the next or previous failure."""
        self._go_to_next(by, lambda part: part.failed, "Nothing else went wrong this way.")

    def _go_to_next(self, by: int, fits: Callable[[Part], bool], missed: str) -> None:
        parts, at = self._layout.parts, self.cursor + by
        while 0 <= at < len(parts) and not fits(parts[at]):
            at += by
        if 0 <= at < len(parts):
            self._go_to(at, by)
        else:
            self.post_message(self.Missed(missed))

    def _go_to(self, at: int, by: int) -> None:
        if by < 0:
            self.put()
        else:
            self.let_go()
        self.select_piece(at)

    def action_switch_fold(self) -> None:
        """Unfolds the selected piece, shows more of it, or folds it when all is shown."""
        piece = self._selected()
        if piece is None or self._unfolds(piece):
            self.action_unfold()
        elif self._view.skip or not (self._is_tool or self._view.limit is None):
            self._set_view(USUAL)
        else:
            self.action_fold()

    @property
    def _is_tool(self) -> bool:
        return self._layout.parts[self.cursor].is_tool

    def _unfolds(self, piece: Piece) -> bool:
        """Whether enter shows more of the selected piece."""
        is_folded = self._is_tool and len(piece.lines) == 1
        return not self._view.skip and (piece.hidden > 0 or is_folded)

    @property
    def fold_word(self) -> str:
        """The footer word of enter for the selected piece; empty where it does nothing."""
        piece = self._selected()
        return "" if piece is None else "unfold" if self._unfolds(piece) else "fold"

    def action_unfold(self) -> None:
        """Shows more of the selected piece."""
        piece, limit = self._selected(), self._view.limit
        if piece is not None and (limit is None or limit <= 1):
            lines = len(piece.lines)
            limit = TEXT_LINES if lines < TEXT_LINES else lines + STEP
            self._set_view(self._view._replace(limit=limit))
        elif piece is not None and piece.hidden:
            self._set_view(self._view._replace(limit=(limit or 0) + STEP))
        else:
            self.post_message(self.Missed(ALL_SHOWN))

    def action_fold(self) -> None:
        """Folds the selected piece to one line."""
        if self._selected() is None:
            self.post_message(self.Missed(NOT_FOLDED))
        else:
            self._set_view(View(0 if self._is_tool else 1))

    def action_fold_tools(self) -> None:
        """Unfolds every tool call, or folds them all if any is unfolded."""
        views = self._layout.views
        tools = [at for at, part in enumerate(self._layout.parts) if part.is_tool]
        any_open = any((views.get(at, USUAL).limit or 0) > 0 for at in tools)
        views.update(dict.fromkeys(tools, View(0 if any_open else TEXT_LINES)))
        self.update()
        self.select_piece(self.cursor)

    def _selected(self) -> Piece | None:
        if self.rollout is None or not self._layout.parts:
            return None
        piece = self._layout.piece(self.cursor)
        return piece if piece.folds else None

    @property
    def _view(self) -> View:
        return self._layout.views.get(self.cursor, USUAL)

    def _set_view(self, view: View) -> None:
        self.let_go()
        self._layout.views[self.cursor] = view
        self.update()
        start, _ = self._layout.span(self.cursor)
        if start < self.scroll_offset.y:
            self.jump(start)

    def clicked(self, index: int) -> None:
        """Selects a piece; a click on its hint or the head of a tool call folds or unfolds it."""
        if self.rollout is None or not self._layout.parts:
            return
        at = self._layout.at(index)
        was_selected, self.cursor = at == self.cursor, at
        piece, start = self._layout.piece(at), self._layout.starts[at]
        text = "".join(text for text, _ in self.line(index)).lstrip(" │")
        is_head = index == start and (was_selected or self._layout.parts[at].is_tool)
        if is_head or (text.startswith("…") and (piece.hidden or self._view.skip)):
            self.action_switch_fold()
        self.update()

    def action_search(self) -> None:
        """Opens the line to type a search."""
        self.put()
        self.search.open()
        self._searched()

    def action_clear_search(self) -> None:
        """Clears the search; without one the key is not for this pane."""
        if not self.search.is_on:
            raise SkipAction
        self.search.clear()
        self._searched()

    def action_match(self, by: int) -> None:
        """Goes to the next or previous match."""
        match = self.search.step(by, self.cursor)
        if match is None and not self.search.is_on:
            self.post_message(self.Missed(NO_SEARCH.format(key_for("trajectory.search"))))
        elif match is not None:
            self.put()
            self._show_match(match)

    def on_key(self, event: events.Key) -> None:
        if self.search.typing is None or event.key in ("tab", "shift+tab"):
            return
        event.stop()
        event.prevent_default()
        if self.search.take_key(event):
            self._look_through(begins=True, moves=True)
        self._searched()

    def on_paste(self, event: events.Paste) -> None:
        if self.search.typing is not None:
            event.stop()
            self.search.take_text(" ".join(event.text.split()))
            self._searched()

    def _searched(self) -> None:
        self._inked.clear()
        self.update()
        self.post_message(self.Retitled())

    def _look_through(self, *, begins: bool = False, moves: bool = False) -> None:
        """Searches; may go to the next match, or the first one behind the cursor."""
        self.search.is_busy |= begins
        self._found_in, self._is_finding = self._parts[0], True
        self.run_worker(self._found(moves), group="find", exclusive=True)

    async def _found(self, moves: bool) -> None:
        source, parts, rollout = self.search.source, self._layout.parts, self.rollout
        found = await asyncio.to_thread(search_parts, source, parts)
        self._is_finding = False
        if source != self.search.source or rollout is not self.rollout:
            return
        self.search.found(*found)
        if moves:
            self.action_match(1)
        self._searched()

    def _show_match(self, match: Match) -> None:
        """Unfolds as much as is needed to see a match, and goes there."""
        at, name = match.part, match.name
        if at >= len(self._layout.parts):
            return
        self.cursor = at
        self._inked.clear()
        if self._layout.texts(at).line_of(name, match.start) is None:
            block = next(one for one in self._layout.parts[at].blocks() if one.name == name)
            needed = match.start // block.width(self.line_width) + block.text.count(
                "\n", 0, match.start + 1
            )
            deep = needed > DEEP
            limit = TEXT_LINES if deep else max(2 * needed + 20, TEXT_LINES)
            skip = max(match.start - block.width(self.line_width), 0) if deep else 0
            self._layout.views[at] = View(limit, name if deep else "", skip)
        self.update()
        line = self._layout.texts(at).line_of(name, match.start)
        self.show_line(self._layout.starts[at] + (line or 0), margin=3)
        self.update()

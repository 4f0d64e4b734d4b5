"""Two trajectories in one view: aligned units are on the same lines, and scroll together."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import ClassVar

from textual.binding import BindingType

from tui_eval.fold.compare.alignment import Alignment, Unit
from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.lines.line_list import PieceView
from tui_eval.tui.base.lines.line_view import ALL_SHOWN, NOT_FOLDED
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.compare.side_by_side import Block, Place, Shape
from tui_eval.tui.trajectory.piece import STEP
from tui_eval.tui.trajectory.rendering import TEXT_LINES

AT_ONCE = 60
"""The most units whose layout needs no thread: more take longer than a frame."""


class Trajectories(PieceView):
    """Units under a cursor that can be folded; many get their layout in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("beside")
    keeps_cut = True

    def __init__(self, letters: Sequence[str], *, id: str) -> None:
        super().__init__(id=id)
        self._letters = letters
        self.two: Alignment | None = None
        self.empty: tuple[Line, ...] = ()
        self.beside = True
        self._limits: dict[int, int] = {}
        self._blocks: list[Block] = []
        self._made: dict[Hashable, Block] = {}
        self._starts = [0]
        """The first line of every block, and the number of all lines behind them."""
        self._unmarked: set[int] = set()
        self._shape: Shape | None = None
        self._wanted: Shape | None = None
        self._moves_to: Callable[[], None] | None = None
        self._kept: tuple[int, Place] | None = None

    def count(self) -> int:
        return self._starts[-1] if self._blocks else len(self.empty)

    def line(self, index: int) -> Line:
        """One line; the words that differ are marked once they are seen."""
        if not self._blocks:
            return self.empty[index]
        unit = self.piece_at(index)
        if unit in self._unmarked and self._shape is not None:
            self._unmarked.discard(unit)
            self._blocks[unit] = self._shape.block(unit, marks=True)
        return self._blocks[unit].lines[index - self._starts[unit]]

    def show(self, two: Alignment | None, empty: tuple[Line, ...] = ()) -> None:
        """Shows two rollouts at their first difference; `empty` while there are none."""
        self.two = two
        if two is None:  # the lines stay until there are others
            self.empty = empty
        self._limits.clear()
        self._made.clear()
        self._blocks = []
        self._kept = None
        self._unmarked.clear()
        self._shape = self._wanted = None
        self.cursor = 0
        self._moves_to = self._open
        self.jump(0)
        self.update()

    @property
    def _units(self) -> Sequence[Unit]:
        return self.two.units if self.two is not None else ()

    @property
    def selected_unit(self) -> Unit | None:
        """The unit under the cursor."""
        return self._units[self.cursor] if self.cursor < len(self._units) else None

    @property
    def has_layout(self) -> bool:
        """Whether all units have a layout."""
        return self._shape == self._shape_now

    @property
    def _shape_now(self) -> Shape | None:
        if self.two is None:
            return None
        return Shape(self.two, self._letters, self.line_width, self.beside, dict(self._limits))

    def update(self) -> None:
        shape = self._shape_now
        if shape is not None and shape not in (self._shape, self._wanted):
            self._wanted = shape
            missing = sum(key not in self._made for key in shape.keys)
            if missing <= AT_ONCE:
                self._take(shape, shape.blocks(self._made))
            else:
                self.run_worker(self._lay_out_far(shape), group="lay", exclusive=True)
        super().update()

    async def _lay_out_far(self, shape: Shape) -> None:
        blocks = await asyncio.to_thread(shape.blocks, dict(self._made))
        if shape == self._wanted:
            self._take(shape, blocks)
            self.update()

    def _take(self, shape: Shape, blocks: dict[Hashable, Block]) -> None:
        """Shows a finished layout, at the place that was seen before."""
        place = self._place()
        self._made = blocks
        self._blocks = list(blocks.values())
        self._shape = shape
        self._unmarked = {at for at, one in enumerate(shape.two.units) if one.has_changes}
        self._starts = [0, *accumulate(len(one.lines) for one in self._blocks)]
        super().update()
        if self._moves_to is not None:
            self.call_after_refresh(self._moves_to)
            self._moves_to = self._kept = None
        elif place is not None and place[0] < len(self._blocks):
            start, end = self.span(place[0])
            self.jump(min(start + shape.line_of(place), end - 1))
            self._kept = self.scroll_offset.y, place

    def _place(self) -> Place | None:
        """The first visible place; without scrolling, that of before the last layout."""
        if self._shape is None or not self._blocks:
            return None
        top = self.scroll_offset.y
        if self._kept is not None and self._kept[0] == top:
            return self._kept[1]
        unit = self.piece_at(top)
        return self._shape.place_of(unit, top - self._starts[unit])

    def pieces(self) -> int:
        return len(self._blocks)

    def piece_at(self, line: int) -> int:
        return min(bisect_right(self._starts, line), len(self._blocks)) - 1

    def span(self, piece: int) -> tuple[int, int]:
        return self._starts[piece], self._starts[piece + 1]

    def go_to(self, unit: int) -> None:
        """Selects a unit and shows it with the lines after it."""
        if self._blocks:
            self.cursor = min(max(unit, 0), len(self._blocks) - 1)
            self._bring(*self.span(self.cursor))

    def _bring(self, start: int, end: int, least: int = 0) -> None:
        """Shows these lines and some around them, from the line `least` on or a later one."""
        top, height = self.scroll_offset.y, self.view_height
        if start < top or max(end, start + height // 3) > top + height:
            self.jump(max(start - height // 4, least, 0))
        self.update()

    def _open(self) -> None:
        """Goes to the first difference; without one to the beginning."""
        two = self.two
        if two is None or two.parting is None or not self._blocks:
            self.go_to(0)
            return
        self._go_to_difference(next(at for at in two.stops if two.units[at].turn == two.parting))

    def _difference(self, head: int) -> tuple[int, int]:
        """The unit to select of a turn that differs, and the line of the difference.

        It is the head, or the differing unit where that line is too far below the head.
        """
        units = self._units
        after = range(head + 1, len(units))
        unit = next((at for at in after if units[at].differs and not units[at].is_head), head)
        line = self._starts[unit] + self._blocks[unit].parting
        fits = line - self._starts[head] < self.view_height * 3 // 4
        return (head if fits else unit), line

    def _go_to_difference(self, head: int) -> None:
        """Shows the difference in a turn, with the lines after it."""
        self.cursor, line = self._difference(head)
        height = self.view_height
        start = self._starts[head] if self.cursor == head else line
        end = line + height // 4
        self._bring(start, end, end - height)

    def action_bottom(self) -> None:
        self.select_piece(len(self._blocks) - 1)

    def action_turn(self, by: int) -> None:
        """Goes to the next or previous turn."""
        if self._blocks:
            heads = [at for at, one in enumerate(self._units) if one.is_head]
            found = self._next(heads, by, "There is no other turn this way.")
            if found is not None:
                self.go_to(found)

    def action_difference(self, by: int) -> None:
        """Goes to the next or previous turn that differs; before, to the rest of this one."""
        if self.two is not None and self._blocks and not (by > 0 and self._go_far()):
            heads = {self._difference(head)[0]: head for head in self.two.stops}
            found = self._next(heads, by, "There is no other difference this way.")
            if found is not None:
                self._go_to_difference(heads[found])

    def _go_far(self) -> bool:
        """Goes to the difference in the selected unit, if that is below the view."""
        assert self._shape is not None
        unit = self._folding
        block = self._blocks[unit]
        was_far = block.is_far
        limit = self._limits.get(unit, TEXT_LINES)
        while block.is_far and block.hidden:
            limit *= 2
            block = self._shape._replace(limits={unit: limit}).block(unit)
            self._limits[unit] = limit
        self.update()
        line = self._starts[unit] + self._blocks[unit].parting
        is_below = self._units[unit].has_changes and line >= self.scroll_offset.y + self.view_height
        if is_below:
            self.cursor = unit
            self.jump(line - self.view_height // 4)
            self.update()
        return is_below or was_far

    def _next(self, units: Iterable[int], by: int, missed: str) -> int | None:
        there = [at for at in units if (at > self.cursor) == (by > 0) and at != self.cursor]
        if not there:
            self.post_message(self.Missed(missed))
            return None
        return min(there) if by > 0 else max(there)

    def action_switch_fold(self) -> None:
        """Unfolds the selected unit, shows more of it, or folds it when all is shown."""
        block = self._selected()
        if block is None or block.hidden or self._is_folded(self._folding):
            self.action_unfold()
        else:
            self.action_fold()

    def _is_folded(self, unit: int) -> bool:
        one = self._units[unit]
        usual = 0 if one.is_tool and not one.starts_unfolded else None
        return self._limits.get(unit, usual) == 0

    def action_unfold(self) -> None:
        """Shows more of the selected unit."""
        block, unit = self._selected(), self._folding
        is_folded = block is not None and self._is_folded(unit)
        if block is None or not (block.is_far or block.hidden or is_folded):
            self.post_message(self.Missed(ALL_SHOWN))
        elif block.is_far:
            self._go_far()
        elif is_folded or len(block.lines) < TEXT_LINES:
            self._set_limit(unit, TEXT_LINES)
        else:
            self._set_limit(unit, self._limits.get(unit, TEXT_LINES) + STEP)

    def action_fold(self) -> None:
        if self._selected() is None:
            self.post_message(self.Missed(NOT_FOLDED))
        else:
            self._set_limit(self._folding, 0)

    def action_fold_tools(self) -> None:
        """Unfolds every tool call, or folds them all if any is unfolded."""
        if not self._blocks:
            return
        tools = [at for at, one in enumerate(self._units) if one.is_tool]
        limit = 0 if any(not self._is_folded(at) for at in tools) else TEXT_LINES
        self._limits |= dict.fromkeys(tools, limit)
        self._moves_to = partial(self.go_to, self.cursor)
        self.update()

    @property
    def _folding(self) -> int:
        """The unit to fold: the selected one, or the first below a head, of those that differ."""
        units, one = self._units, self.selected_unit
        if one is None or not one.is_head:
            return self.cursor
        below = range(self.cursor + 1, len(units))
        return next((at for at in below if units[at].differs or not one.differs), self.cursor)

    def _selected(self) -> Block | None:
        block = self._blocks[self._folding] if self._blocks else None
        return block if block is not None and block.folds else None

    def _set_limit(self, unit: int, limit: int) -> None:
        self._limits[unit] = limit
        top = self.scroll_offset.y
        self.update()
        start, _ = self.span(unit)
        if start < top:
            self.jump(top if limit else start)

    def clicked(self, index: int) -> None:
        """Selects a unit; a click on the selected one unfolds or folds it."""
        if not self._blocks:
            return
        unit = self.piece_at(index)
        if unit == self.cursor:
            self.action_switch_fold()
        self.cursor = unit
        self.update()

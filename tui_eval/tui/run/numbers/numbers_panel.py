"""The numbers of a run: means with their intervals, pass rates, errors, times, examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.numbers.lines import example_line, numbers
from tui_eval.tui.run.numbers.sections import NumberLine, Target


class NumbersPanel(LineView):
    """Redrawn when a rollout finished, from sums of the fold; examples on demand.

    The cursor goes from one error, tool or example to the next.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("numbers")
    moves_add_up = False

    @dataclass
    class Wanted(Message):
        """Somebody wants to see a rollout with an error, with a tool, or of an example."""

        target: Target

    def __init__(self, state: RunState, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: list[NumberLine] = []
        self._is_entered = False
        """Whether enter was pressed before anything was there."""
        self.show_run(state)

    def show_run(self, state: RunState) -> None:
        """Shows another run."""
        self.state = state
        self.cursor: Target | None = None
        self._made_of: tuple[object, ...] = ()

    def count(self) -> int:
        has_examples = self.state.per_example > 1 and self.state.finished
        return len(self._lines) + (len(self.state.examples) if has_examples else 0)

    def line(self, index: int) -> Line:
        if index < len(self._lines):
            return self._lines[index].line
        return example_line(self.state, index - len(self._lines), self.line_width)

    def target(self, index: int) -> Target | None:
        """The target of a line."""
        if index < len(self._lines):
            return self._lines[index].target
        return ("example", index - len(self._lines))

    def marked(self, index: int) -> bool:
        return self.cursor is not None and self.target(index) == self.cursor

    lit = marked

    def update(self) -> None:
        """Makes the lines again where a rollout finished or the width changed."""
        state = self.state
        counts = (state.finished, state.taken_back, state.total, len(state.notices), state.refusal)
        reading = state.run.reading if state.run is not None else 0
        has_questions = state.details.questions.has_any
        made_of = (*counts, reading, state.end, has_questions, self.line_width)
        if made_of != self._made_of:
            self._made_of = made_of
            self._lines = list(numbers(state, self.line_width))
        if self._is_entered and self._first is not None:
            self.action_enter()
        super().update()

    @property
    def _line_of_cursor(self) -> int | None:
        if self.cursor is None:
            return None
        kind, which = self.cursor
        if kind == "example":
            return len(self._lines) + int(which)
        lines = enumerate(self._lines)
        return next((at for at, one in lines if one.target == self.cursor), None)

    @property
    def _here(self) -> int | None:
        """The line under the cursor; None where it cannot be seen."""
        here = self._line_of_cursor
        return here if here is not None and self._can_be_seen(here) else None

    def _can_be_seen(self, line: int) -> bool:
        top = self.scroll_offset.y
        return top <= line < top + self.view_height

    def _next(self, index: int, by: int) -> int | None:
        """The next or previous line with a target."""
        count = self.count()
        places = range(index + 1, count) if by > 0 else range(min(index, count) - 1, -1, -1)
        return next((at for at in places if self.target(at) is not None), None)

    def action_move(self, by: int) -> None:
        """Goes to the next error, tool or example if it is visible, else scrolls there."""
        top, height = self.scroll_offset.y, self.view_height
        here = self._here
        if here is None:
            here = top - 1 if by > 0 else top + height
        found = self._next(here, by)
        if found is None or not top - 1 <= found <= top + height:
            self.scroll_lines(by)
        else:
            self._put_cursor(found)

    def _put_cursor(self, line: int) -> None:
        self.cursor = self.target(line)
        self.update()
        self.show_line(line)
        self.post_message(self.Retitled())

    def _show_selected(self) -> None:
        """Shows the target under the cursor, whose line depends on the width."""
        if (line := self._line_of_cursor) is not None:
            self.show_line(line)

    @property
    def _first(self) -> int | None:
        """The first line with a target, visible or below; else the first of all."""
        found = self._next(self.scroll_offset.y - 1, 1)
        return self._next(-1, 1) if found is None else found

    @property
    def enter_word(self) -> str:
        """The footer word of enter; empty where it does nothing."""
        if self._here is not None:
            return "its rollouts"
        return "" if self._first is None else "choose a row"

    def action_enter(self) -> None:
        """Shows the rollouts of the target under the cursor; without one selects the first."""
        if self.cursor is not None and self._here is not None:
            self.post_message(self.Wanted(self.cursor))
        elif (first := self._first) is not None:
            self._is_entered = False
            was_seen = self._can_be_seen(first)
            self._put_cursor(first)
            if not was_seen:
                self.scroll_lines(first - 1 - self.scroll_offset.y)
        else:
            self._is_entered = self.state.is_loading

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Reports that enter may have another effect."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Retitled())

    def on_blur(self) -> None:
        """Forgets an enter that waits."""
        self._is_entered = False

    def clicked(self, index: int) -> None:
        if self.target(index) is not None:
            self._put_cursor(index)
            self.action_enter()

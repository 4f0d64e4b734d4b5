"""Which two rollouts are read, and what they came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_eval.fold.columns import counts_of, number_of_row
from tui_eval.printable import one_line
from tui_eval.text.figures import count_text, plural, reward_text, span_text
from tui_eval.text.stages import endings_of, example_name, look_of
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import Line, Span, left, letter_ink, line_width, spread
from tui_eval.tui.compare.side_by_side import GUTTER, fitted

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState
    from tui_eval.tui.compare.pairs import Source

NAME_MOST = 28


class TrajectoryHeads(LineView, can_focus=False):
    """A line for each side, or both on one, over their columns.

    `shown` has of each side its run, its row and the rows it could be.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.beside = True
        self.apart = False
        """Whether they are of different examples."""
        self.shown: list[tuple[Source, int, Sequence[int]]] = []

    def count(self) -> int:
        """Two lines: beside each other names, then facts; else one side each."""
        return 2

    def line(self, index: int) -> Line:
        """One of them."""
        if not self.shown:
            return ()
        width = self.line_width
        facts = _columns([self._facts(side) for side in (0, 1)])
        if not self.beside:
            names = [self._who(side) for side in (0, 1)]
            most = max(map(line_width, names))
            lines = [(*fitted(who, most), *what) for who, what in zip(names, facts, strict=True)]
            return _filled(lines[index], width)
        half = max((width - GUTTER) // 2, 8)
        first, second = (self._beside(index, side, facts[side], half) for side in (0, 1))
        return (*fitted(first, half), (" │ ", "rule"), *second)

    def _beside(self, index: int, side: int, facts: list[Span], width: int) -> Line:
        """A side's name, at its right those facts that have no room below; or those below."""
        below = _filled(facts, width)
        if index == 1:
            return below
        who = _filled(self._who(side), width)
        return spread(who, _filled(facts[len(below) :], width - line_width(who)), width, least=0)

    def _who(self, place: int) -> Line:
        side, row, rows = self.shown[place]
        spans: list[Span] = [(side.letter, letter_ink(side.letter))]
        names = [one_line(shown[0].name, NAME_MOST) for shown in self.shown]
        if side.name:
            spans.append((f"  {left(names[place], max(map(cell_len, names)))}", "strong"))
        if row < 0:
            return (*spans, ("  no finished rollout", "warn"))
        if self.apart:
            spans.append((f"  {example_name(side.state.example_id(row))}", "strong"))
        if side.state.per_example > 1 or len(rows) > 1:
            number = number_of_row(side.state, row)
            spans.append((f"  #{number}", "strong" if not side.name else ""))
            spans.append((f" of {plural(len(rows), 'rollout')}", "faint"))
        return tuple(spans)

    def _facts(self, place: int) -> list[Span]:
        side, row, *_ = self.shown[place]
        return _row_facts(side.state, row) if 0 <= row < side.state.total else []


def _row_facts(state: RunState, row: int) -> list[Span]:
    look = look_of(state, row)
    tokens = state.input_tokens[row] + state.output_tokens[row]
    turns, calls = counts_of(state, row)
    return [
        (f"  {look.glyph} {look.word}", look.ink),
        (f" · {ending}" if (ending := endings_of(state, row)) else "", "warn"),
        ("  reward ", "muted"),
        (reward_text(state.reward[row]), "strong"),
        (f"  {plural(turns, 'turn')}" if turns is not None else "", "muted"),
        (f"  {plural(calls, 'tool call')}" if calls is not None else "", "muted"),
        (f"  {count_text(tokens)} tokens" if tokens else "", "muted"),
        (f"  {span_text(state.total_ms[row] / 1000)}", "muted"),
    ]


def _columns(sides: list[list[Span]]) -> list[list[Span]]:
    """The facts of both sides as wide as the wider ones; those of one as they are."""
    if not all(sides):
        return sides
    widths = [max(map(line_width, ([one], [other]))) for one, other in zip(*sides, strict=True)]
    return [
        [(left(text, width), ink) for (text, ink), width in zip(side, widths, strict=True)]
        for side in sides
    ]


def _filled(spans: Sequence[Span], width: int) -> Line:
    """As many spans from the first on as fit whole."""
    kept: list[Span] = []
    for span in spans:
        if line_width((*kept, span)) > width:
            break
        kept.append(span)
    return tuple(kept)

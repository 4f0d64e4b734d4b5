"""Pairs of rollouts to read beside each other, and the lines at their head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from rich.cells import cell_len

from tui_eval.fold.columns import counts_of, number_of_row
from tui_eval.fold.compare.comparison import Change
from tui_eval.fold.rollout_columns import DONE
from tui_eval.printable import one_line
from tui_eval.text.figures import count_text, plural, reward_text, span_text
from tui_eval.text.stages import endings_of, example_name, look_of
from tui_eval.tui.base.look.ink import Line, Span, left, letter_ink, line_width, spread
from tui_eval.tui.compare.side_by_side import GUTTER, fitted

if TYPE_CHECKING:
    from tui_eval.fold.compare.comparison import PairedExample
    from tui_eval.fold.run_state import RunState
    from tui_eval.runs.compared_runs import Source

NAME_MOST = 28


Head: TypeAlias = "tuple[Source, int, Sequence[int]]"
"""A side's run, its row, and the rows that it could be."""


class Pair(msgspec.Struct, frozen=True):
    """Two rollouts to read, and others of their example to replace them.

    Args:
        example_ids: Those of both; one where they are of the same example.
        rows: The finished rollouts of the example, for each side.
        at: The place of the one that is shown first.
    """

    example_ids: tuple[Any, ...]
    rows: tuple[Sequence[int], Sequence[int]]
    at: tuple[int, int] = (0, 0)
    change: Change | None = None

    @classmethod
    def of(cls, example: PairedExample, first: RunState, second: RunState) -> Pair:
        """The pair of an example that shows its change best."""
        ours, theirs = _done(first, example.first_rows), _done(second, example.second_rows)
        change, more = example.change, example.difference
        if change is Change.FIXED or (change is not Change.BROKEN and more > 0):
            least = (True, False)
        elif change is Change.BROKEN or more < 0:
            least = (False, True)
        else:
            least = (change is Change.BOTH_WRONG,) * 2
        at = (_extreme(first, ours, least[0]), _extreme(second, theirs, least[1]))
        return cls((example.example_id,), (ours, theirs), at, change)

    @classmethod
    def of_rows(cls, state: RunState, a: int, b: int) -> Pair:
        """A pair of two rollouts of one run."""
        (ours, at), (theirs, there) = _group(state, a), _group(state, b)
        ids = dict.fromkeys(map(state.example_id, (a, b)))
        return cls(tuple(ids), (ours, theirs), (at, there))


def _done(state: RunState, rows: Sequence[int]) -> list[int]:
    return [row for row in rows if state.stage[row] == DONE]


def _extreme(state: RunState, rows: Sequence[int], least: bool) -> int:
    """The place of the first row with the least or the greatest reward.

    Rows without a reward count only where there is no other.
    """
    rewards = [state.reward[row] for row in rows]
    keys = [(math.isnan(reward), reward if least else -reward) for reward in rewards]
    return min(range(len(keys)), key=keys.__getitem__, default=0)


def _group(state: RunState, row: int) -> tuple[list[int], int]:
    """The finished rollouts of a row's example, itself among them, and its place there."""
    start = row // state.per_example * state.per_example
    end = min(start + state.per_example, state.total)
    rows = [one for one in range(start, end) if one == row or state.stage[one] >= DONE]
    return rows, rows.index(row)


def head_lines(heads: Sequence[Head], apart: bool, beside: bool, width: int) -> list[Line]:
    """Names, then figures of both sides in columns; else a line a side.

    Args:
        apart: Whether they are of different examples.
        beside: Whether the sides are in columns.
    """
    most = max(cell_len(one_line(source.name, NAME_MOST)) for source, *_ in heads)
    names = [_who(head, most, apart) for head in heads]
    figures = _columns([_row_figures(source.state, row) for source, row, _ in heads])
    if not beside:
        most = max(map(line_width, names))
        sides = zip(names, figures, strict=True)
        return [_filled((*fitted(who, most), *what), width) for who, what in sides]
    half = max((width - GUTTER) // 2, 8)
    columns = (_beside(who, what, half) for who, what in zip(names, figures, strict=True))
    rows = zip(*columns, strict=True)
    return [(*fitted(first, half), (" │ ", "rule"), *second) for first, second in rows]


def _who(head: Head, most: int, apart: bool) -> Line:
    side, row, rows = head
    spans: list[Span] = [(side.letter, letter_ink(side.letter))]
    if side.name:
        spans.append((f"  {left(one_line(side.name, NAME_MOST), most)}", "strong"))
    if row < 0:
        return (*spans, ("  no finished rollout", "warn"))
    if apart:
        spans.append((f"  {example_name(side.state.example_id(row))}", "strong"))
    if side.state.per_example > 1 or len(rows) > 1:
        number = number_of_row(side.state, row)
        spans.append((f"  #{number}", "strong" if not side.name else ""))
        spans.append((f" of {plural(len(rows), 'rollout')}", "faint"))
    return tuple(spans)


def _beside(name: Line, figures: list[Span], width: int) -> tuple[Line, Line]:
    """A side's name with the figures that have no room below; and the line below."""
    who, below = _filled(name, width), _filled(figures, width)
    rest = _filled(figures[len(below) :], width - line_width(who))
    return spread(who, rest, width, least=0), below


def _row_figures(state: RunState, row: int) -> list[Span]:
    if not 0 <= row < state.total:
        return []
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
    """The figures of both sides padded to equal widths; those of one as they are."""
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

"""Rollouts as lines of text, with some of the columns of the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tui_eval.fold.columns import Note, Notes, counts_of, note_key, number_of_row
from tui_eval.fold.rollout_columns import ERROR
from tui_eval.fold.row_details import TOOLS_APART
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.text.figures import NONE, count_text, reward_text, span_text
from tui_eval.text.stages import TOOL_FAILED, endings_of, error_word, look_of

ID_MOST = 24
STATE_MOST = 60


def row_lines(state: RunState, rows: Sequence[int], notes: Notes) -> Iterator[str]:
    """One line a rollout under a line of titles."""
    titles = ("", "ex", "#", "reward", "turns", "tools", "tokens", "time", "state")
    table: list[tuple[str, ...]] = [titles]
    table += [_cells(state, row, notes) for row in rows]
    widths = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
    for glyph, *numbers, last in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:-1], strict=True)]
        yield f"{glyph or ' '} {' '.join(cells)}  {last}".rstrip()


def _cells(state: RunState, row: int, notes: Notes) -> tuple[str, ...]:
    stage = state.stage[row]
    reward = state.reward[row]
    begun = stage > 0
    note = notes.get(note_key(state, row), Note())
    word = error_word(state.errors[row]) if stage == ERROR else look_of(state, row).word
    reported = [one_line(word, STATE_MOST), *_outcomes(state, row)]
    marks = [f"#{tag}" for tag in note.tags] + ([f'"{note.text}"'] if note.text else [])
    counts = counts_of(state, row)
    tokens = state.input_tokens[row] + state.output_tokens[row]
    return (
        look_of(state, row).glyph,
        one_line(str(state.example_id(row)), ID_MOST),
        str(number_of_row(state, row)),
        reward_text(reward) if not math.isnan(reward) else NONE,
        *((NONE if count is None else str(count)) if begun else "" for count in counts),
        (count_text(tokens) if tokens else NONE) if begun else "",
        span_text(state.total_ms[row] / 1000),
        "  ".join([*reported, *(one_line(mark, STATE_MOST) for mark in marks)]),
    )


def _outcomes(state: RunState, row: int) -> Iterator[str]:
    """Errors of a rollout, how its answers ended, and its tools with a failed call."""
    details = state.details
    if kind := details.error_class.get(row):
        yield kind
    if ending := endings_of(state, row):
        yield ending
    if tools := details.failed_tools.get(row):
        yield f"{TOOL_FAILED} {one_line(tools.replace(TOOLS_APART, ', '), STATE_MOST)} failed"

"""What is known of one rollout without its trajectory, as plain data."""

from __future__ import annotations

import math
from typing import Any

from tui_eval.fold.columns import (
    Note,
    Notes,
    all_tokens_of,
    counts_of,
    note_key,
    number_of_row,
    seconds_of,
    tokens_of,
)
from tui_eval.fold.filter_fields import STAGES
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.row_facts import TOOLS_APART
from tui_eval.fold.run_state import RunState


def row_object(state: RunState, row: int, notes: Notes) -> dict[str, Any]:
    """Plain data, in the order in which it is shown; None for what nobody knows."""
    facts = state.facts
    stage = state.stage[row]
    note = notes.get(note_key(state, row), Note())
    finished = stage >= DONE
    read, written = tokens_of(state, row)
    turns, calls = counts_of(state, row)
    return {
        "row": row,
        "example_id": state.example_id(row),
        "number": number_of_row(state, row),
        "stage": STAGES[stage],
        "reward": state.reward[row] if not math.isnan(state.reward[row]) else None,
        "error": state.errors.get(row),
        "error_class": facts.error_class.get(row) or None,
        "stop_condition": facts.stop.get(row) or None,
        "finish_reason": facts.finish.get(row) or None,
        "is_truncated": row in facts.truncated if finished else None,
        "attempt": state.attempt[row] or None,
        "code": facts.code.get(row, 1) if finished else None,
        "turns": turns,
        "tool_calls": calls,
        "tools": _names(facts.tools.get(row)),
        "failed_tools": _names(facts.failed_tools.get(row)),
        "models": _names(facts.models.get(row)),
        "input_tokens": read,
        "output_tokens": written,
        "tokens": all_tokens_of(state, row),
        "time_s": seconds_of(state, row),
        "metrics": {
            name: value
            for name in facts.metrics
            if not math.isnan(value := facts.metric(name, row))
        },
        "note": note.text,
        "tags": list(note.tags),
    }


def _names(text: str) -> list[str]:
    return [name for name in text.split(TOOLS_APART) if name]

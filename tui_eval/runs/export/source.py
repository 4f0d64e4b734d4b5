"""Source of an export: rollouts of a run, read one by one, and each as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

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
from tui_eval.fold.query.fields import STAGES
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.row_details import TOOLS_APART
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout, content_text, from_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import SavedRows, values_of


class ExportSource(msgspec.Struct, frozen=True):
    """Finished rollouts of a run in the order in which they are exported; others are left out.

    `where` is the filter that chose them, for people.
    """

    run: RunDir
    state: RunState
    notes: Notes
    rows: Sequence[int]
    where: str = ""
    doubts: dict[int, str] = msgspec.field(default_factory=dict)
    """Fault of the line of each row that was read and cannot be shown as it is."""

    @property
    def finished(self) -> list[int]:
        """The rows that are on disk."""
        return [row for row in self.rows if self.state.stage[row] >= DONE]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every row with its bytes in the file of the run."""
        rows = self.finished
        if not rows:
            return
        with SavedRows(self.run, self.state) as saved:
            for row in rows:
                line = saved.line(row)
                if doubt := saved.doubt(row, line):
                    self.doubts[row] = doubt
                yield row, line

    def saved(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every row as it was saved; what cannot be read any more is empty."""
        for row, line in self.lines():
            yield row, values_of(line) or {}

    def rollouts(self) -> Iterator[Rollout]:
        """Every row with its trajectory."""
        for row, values in self.saved():
            rollout = from_row(row, values)
            rollout.doubt = self.doubts.get(row, "")
            yield rollout

    def record(self, row: int) -> dict[str, Any]:
        """A row as plain data, without its trajectory."""
        return row_object(self.state, row, self.notes)

    @property
    def metrics(self) -> list[str]:
        """Names of the run's metrics."""
        return sorted(self.state.details.metrics)


def question_of(rollout: Rollout) -> str:
    """The last message of the prompt."""
    prompt = rollout.messages[: rollout.prompt_length]
    return content_text(prompt[-1].get("content")) if prompt else ""


def response_of(rollout: Rollout) -> str:
    """The last thing that the model said."""
    for message in reversed(rollout.messages[rollout.prompt_length :]):
        text = content_text(message.get("content"))
        if message.get("role") == "assistant" and text:
            return text
    return ""


def row_object(state: RunState, row: int, notes: Notes) -> dict[str, Any]:
    """Plain data, in the order in which it is shown; None for what nobody knows."""
    details = state.details
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
        "error_class": details.error_class.get(row) or None,
        "stop_condition": details.stop.get(row) or None,
        "finish_reason": details.finish.get(row) or None,
        "is_truncated": row in details.truncated if finished else None,
        "attempt": state.attempt[row] or None,
        "code": details.code.get(row, 1) if finished else None,
        "turns": turns,
        "tool_calls": calls,
        "tools": _names(details.tools.get(row)),
        "failed_tools": _names(details.failed_tools.get(row)),
        "models": _names(details.models.get(row)),
        "input_tokens": read,
        "output_tokens": written,
        "tokens": all_tokens_of(state, row),
        "time_s": seconds_of(state, row),
        "metrics": {
            name: value
            for name in details.metrics
            if not math.isnan(value := details.metric(name, row))
        },
        "note": note.text,
        "tags": list(note.tags),
    }


def _names(text: str) -> list[str]:
    return [name for name in text.split(TOOLS_APART) if name]


def as_bytes(text: str) -> bytes:
    """A text as it is written; half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace")

"""What is exported: rollouts of a run, read one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tui_eval.fold.columns import Notes
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.row_object import row_object
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout, content_text, from_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import SavedRows, values_of


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
    """By row, of those that were read: what of its line cannot be read as it is."""

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

    def facts(self, row: int) -> dict[str, Any]:
        """What is known of a row without its trajectory."""
        return row_object(self.state, row, self.notes)

    @property
    def metrics(self) -> list[str]:
        """Names of the run's metrics."""
        return sorted(self.state.facts.metrics)


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

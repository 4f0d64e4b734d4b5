"""Glyph, word and ink of each stage of a rollout; colour is never the only sign.

Stages are plain numbers here: the screen's first frame comes before the event language is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui_eval.fold.columns import number_of_row
from tui_eval.fold.outcome_words import ENDED
from tui_eval.fold.rollout_columns import DONE, WAITING
from tui_eval.printable import one_line

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState

SCORING_ERROR = "ScoringError"
TRUNCATED = "truncated"
"""Word for an answer that was cut off, and for a finished rollout that has one."""
CUT, RETRY, UNWILLING, TOOL_FAILED = "✂", "↻", "⊘", "◆✗"
"""Glyphs of an answer that was cut off, of a try that is not the first, of an answer that the model
or a filter refused, and of a tool call that went wrong."""


class Look(NamedTuple):
    """One stage as people see it."""

    glyph: str
    word: str
    ink: str


LOOKS = (
    Look("·", "waiting", "faint"),
    Look("~", "sleeping", "warn"),
    Look("◇", "generated", "muted"),
    Look("○", "setup", "muted"),
    Look("‖", "held", "warn"),
    Look("▶", "model", "busy"),
    Look("◆", "tool", "accent"),
    Look("Σ", "scoring", "busy"),
    Look("✓", "done", "good"),
    Look("✗", "error", "bad"),
)

NO_ROW = Look("·", "no row", "faint")
"""A rollout without a readable line, of a run that is over for good."""
MISSING = Look("·", "missing", "faint")
"""A rollout whose turn had not come when its run ended; a resume runs it."""

MEANINGS = (
    "has not begun",
    "a request waits to be tried again",
    "waits for the rest of its group",
    "the environment prepares it",
    "held back by the pause",
    "the model is answering",
    "a tool is at work",
    "reward functions are at work",
    "finished and saved",
    "ended in an error; it has no reward",
)
OTHERS = (
    (CUT, TRUNCATED, "an answer ended at its length limit"),
    (UNWILLING, "refused", "the model refused, or, filtered, the endpoint did"),
    (TOOL_FAILED, "failed", "calls of these tools went wrong; the model saw why"),
    (RETRY, "try", "which one it is: try 2, or ↻2 in short"),
)
"""Marks beside a stage: glyph, word and meaning."""


def look_of(state: RunState, row: int) -> Look:
    """The stage of a rollout as people see it."""
    stage = state.stage[row]
    if stage == WAITING and state.end is not None:
        return NO_ROW if state.is_settled else MISSING
    return LOOKS[stage]


def endings_of(state: RunState, row: int) -> str:
    """Words for answers of a finished rollout that did not end by themselves."""
    if state.stage[row] != DONE:
        return ""
    details = state.details
    words = (TRUNCATED if row in details.truncated else "", ENDED.get(details.finish.get(row), ""))
    return " · ".join(word for word in words if word)


def error_word(error: str) -> str:
    """An error's name as people say it: that of a reward function is a scoring error."""
    first, arrow, rest = error.partition(" -> ")
    return f"scoring error{arrow}{rest}" if first == SCORING_ERROR else error


def is_running(stage: int) -> bool:
    """Whether a rollout of this stage has begun and not finished."""
    return WAITING < stage < DONE


def example_name(example_id: object) -> str:
    """Name of an example."""
    return f"example {one_line(str(example_id), 24)}"


def rollout_name(state: RunState, row: int) -> str:
    """Name of a rollout: its example and its number."""
    name = example_name(state.example_id(row))
    return name if state.per_example == 1 else f"{name} #{number_of_row(state, row)}"

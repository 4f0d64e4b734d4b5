"""The fields that a filter knows, and how the values of each are written."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from tui_eval.error_classes import ERROR_CLASSES

NUMBERS, TEXT, CHOICE = "a number", "text", "a choice"

STAGES = (
    *("waiting", "sleeping", "generated", "setup", "held", "model", "tool", "scoring", "done"),
    "error",
)
"""Names of the stages, in the order of `tui_eval.events.Stage`."""
STAGE_GROUPS = ("running", "finished")
TRUTH = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


class Field(NamedTuple):
    """One field: the kind of its values, and its meaning for people."""

    kind: str
    meaning: str
    choices: tuple[str, ...] = ()


FIELDS = {
    "example": Field(TEXT, "id of the example"),
    "number": Field(NUMBERS, "which rollout of its example"),
    "row": Field(NUMBERS, "place in the run, from 0"),
    "reward": Field(NUMBERS, "what its reward functions come to"),
    "turns": Field(NUMBERS, "model calls"),
    "calls": Field(NUMBERS, "tool calls"),
    "tokens": Field(NUMBERS, "tokens, in and out"),
    "input": Field(NUMBERS, "tokens of the prompts"),
    "output": Field(NUMBERS, "tokens of the answers"),
    "time": Field(NUMBERS, "how long it took"),
    "attempt": Field(NUMBERS, "which attempt it is, from 1"),
    "stage": Field(CHOICE, "where it is", (*STAGES, *STAGE_GROUPS)),
    "error": Field(TEXT, "names of its exceptions"),
    "class": Field(CHOICE, "what failed", tuple(ERROR_CLASSES)),
    "stop": Field(TEXT, "why it ended"),
    "finish": Field(TEXT, "why its last answer ended"),
    "model": Field(TEXT, "other models that answered"),
    "tool": Field(TEXT, "tools that it called"),
    "failed_tool": Field(TEXT, "tools with a failed call"),
    "truncated": Field(CHOICE, "whether an answer was cut off", tuple(TRUTH)),
    "question": Field(TEXT, "beginning of the question"),
    "answer": Field(TEXT, "beginning of the answer"),
    "code": Field(NUMBERS, "which version of the code, from 1"),
    "tag": Field(TEXT, "one of its tags"),
    "note": Field(TEXT, "what somebody noted on it"),
    "text": Field(TEXT, "the whole trajectory, read from disk"),
}
OTHER_NAMES = {
    **{"example_id": "example", "id": "example", "ex": "example", "rollout": "number"},
    **{"#": "number", "tools": "calls", "in": "input", "out": "output", "try": "attempt"},
    "state": "stage",
    **{"error_class": "class", "finish_reason": "finish", "stop_condition": "stop"},
}
"""Other names of fields, such as the heads of columns."""
OPERATORS = ("<=", ">=", "!=", "<", ">", "=", ":")
OF_TEXT = (":", "=", "!=")
METRIC = "metrics."
"""Prefix that makes a name a metric's, also where a field has that name."""

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIMES = {"": 1.0, "k": 1e3, "m": 1e6}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-z]*)", re.ASCII | re.IGNORECASE)
_DIGITS_AT_MOST = 300
_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,6}):(\d\d(?:\.\d{1,6})?)", re.ASCII)


def kind_of(field: str) -> str:
    """Kind of a field's values; those of a metric are numbers."""
    found = FIELDS.get(field)
    return found.kind if found is not None else NUMBERS


def number_from(field: str, text: str) -> float | None:
    """A finite number as people write it for this field; None for anything else."""
    if len(text) < _DIGITS_AT_MOST and text.isascii() and text.isdecimal():
        return float(text)  # ids of examples: many, and requested all at once
    clock = _CLOCK.fullmatch(text) if field == "time" else None
    if clock is not None:
        hours, minutes, seconds = clock.groups()
        value = int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)
        return value if math.isfinite(value) else None
    match = _NUMBER.fullmatch(text)
    units = _SECONDS if field == "time" else _TIMES
    factor = None if match is None else units.get(match.group(2).casefold())
    if match is None or factor is None:
        return None
    value = float(match.group(1)) * factor
    return value if math.isfinite(value) else None

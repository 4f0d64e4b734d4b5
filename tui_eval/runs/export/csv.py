"""A table of rollouts with their question and response, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from tui_eval.fold.trajectory import from_row
from tui_eval.printable import harmless
from tui_eval.runs.export.source import ExportSource, question_of, response_of
from tui_eval.token_kinds import named

FIRST = (
    *("example_id", "number", "stage", "reward", "error", "error_class", "stop_condition"),
    *("finish_reason", "is_truncated"),
)
COUNTS = ("attempt", "turns", "tool_calls", "input_tokens", "output_tokens", "tokens", "time_s")
LAST = ("tools", "failed_tools", "models", "question", "answer", "response", "note", "tags")
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
"""How a cell begins that a spreadsheet may compute."""


def write(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writing.Writer`."""
    kinds = named(source.state.usage.kinds)
    counts = [*COUNTS, *(f"tokens.{kind}" for kind in kinds)]
    names = [*FIRST, *counts, *(f"metrics.{name}" for name in source.metrics), *LAST]
    file.write(_line([safe_cell(name) for name in names]))
    for written, (row, saved) in enumerate(source.saved(), 1):
        facts = source.facts(row)
        rollout = from_row(row, saved)
        facts |= {f"metrics.{name}": value for name, value in facts["metrics"].items()}
        of_kinds = named(rollout.kinds)
        facts |= {f"tokens.{kind}": of_kinds.get(kind, 0) for kind in kinds}
        facts |= {
            **{name: " ".join(facts[name]) for name in ("tools", "failed_tools", "models")},
            "question": question_of(rollout),
            "answer": rollout.answer,
            "response": response_of(rollout),
            "tags": " ".join(facts["tags"]),
        }
        file.write(_line([_cell(facts.get(name)) for name in names]))
        yield written


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, (bool, int, float)) else safe_cell(str(value))


def safe_cell(text: str) -> str:
    """Text that no terminal obeys and, with an apostrophe before it, no spreadsheet computes."""
    text = harmless(text)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULAS) else text


def _line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")

"""Values of saved rows, whatever program wrote them: what has the wrong type counts as missing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?", re.ASCII)
_NO_METRICS = frozenset(
    ("id", "example_id", "reward", "generation_ms", "scoring_ms", "total_ms", "advantage", "step")
)


def mapping(value: Any) -> Mapping[str, Any]:
    """An object, also one that was saved as JSON text; empty for anything else."""
    value = _from_text(value, "{")
    return value if isinstance(value, Mapping) else {}


def listing(value: Any) -> list[Any]:
    """An array, also one that was saved as JSON text; empty for anything else."""
    value = _from_text(value, "[")
    return value if isinstance(value, list) else []


def _from_text(value: Any, begins: str) -> Any:
    if isinstance(value, str) and value.startswith(begins):
        try:
            return msgspec.json.decode(value.encode("utf-8", "replace"))
        except RecursionError:
            return None
        except ValueError:  # strict JSON has no NaN and infinity as literals
            try:
                return json.loads(value)
            except (ValueError, RecursionError):
                return None
    return value


def number_of(value: Any) -> float | None:
    """A finite number, also one that was saved as text; None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return None


def score_of(value: Any) -> float | None:
    """A reward or a metric: None where it is missing, NaN where it is no number."""
    if value is None:
        return None
    number = number_of(value)
    return math.nan if number is None else number


def tokens_of(value: Any) -> int:
    """A count of tokens; 0 for anything else."""
    return int(min(max(number_of(value) or 0.0, 0.0), 2.0**53))


def metrics_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metrics of a row; rows before there was a key for them have them beside the rest."""
    if "metrics" in row:
        return mapping(row["metrics"])
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, float) and name not in _NO_METRICS
    }


def whole_text(text: str) -> str:
    """A text that UTF-8 can hold: half a surrogate pair becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode()

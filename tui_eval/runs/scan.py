"""Reading results.jsonl line by line into events: ours, verifiers', or half written."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.events import RolloutFinished


@dataclass(frozen=True, slots=True)
class Line:
    """One line of results.jsonl: its place in bytes, and its row or why there is none."""

    number: int
    offset: int
    length: int
    row: dict[str, Any] | None
    fault: str = ""


def decode_row(line: bytes) -> dict[str, Any]:
    """One row, also with NaN literals and lone surrogates, which strict JSON refuses.

    Raises:
        ValueError: The line is not a JSON object.
    """
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        row = json.loads(line.decode("utf-8", "surrogatepass"))
    if not isinstance(row, dict):
        raise ValueError(f"a row is an object, this is {type(row).__name__}")
    return row


def scan(path: Path, start: int = 0) -> Iterator[Line]:
    """Every line from a byte offset on; a last line without its newline is a fault."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        file.seek(start)
        offset = start
        for number, raw in enumerate(file, 1):
            if raw.strip():
                yield _line(number, offset, raw)
            offset += len(raw)


def _line(number: int, offset: int, raw: bytes) -> Line:
    if not raw.endswith(b"\n"):
        return Line(number, offset, len(raw), None, "the line was not finished")
    try:
        return Line(number, offset, len(raw), decode_row(raw))
    except (ValueError, RecursionError) as error:
        return Line(number, offset, len(raw), None, f"not a row: {error}")


class RowPlaces:
    """Gives every saved rollout its place in the run, from its example and number.

    Args:
        rollouts_per_example: Places an example.
        positions: Place of each example id in the run, where the dataset is known; otherwise
            integer ids below `examples` are their own place and others come in order of
            appearance.
    """

    def __init__(
        self, rollouts_per_example: int, examples: int, positions: Mapping[Any, int] | None = None
    ) -> None:
        self.per_example = max(rollouts_per_example, 1)
        self._examples = examples
        self._known = positions
        self._positions: dict[Any, int] = {}
        self._seen: defaultdict[int, int] = defaultdict(int)

    def place(self, row: Mapping[str, Any]) -> tuple[int, int] | None:
        """(place in the run, number in its group), or None where the run has no such place."""
        position = self._position(row.get("example_id", row.get("id")))
        if position is None:
            return None
        ours = row.get("tui_eval")
        number = ours.get("rollout") if isinstance(ours, Mapping) else None
        if not isinstance(number, int):
            number = self._seen[position]
        self._seen[position] += 1
        if not 0 <= number < self.per_example:
            return None
        return position * self.per_example + number, number

    def _position(self, example_id: Any) -> int | None:
        if isinstance(example_id, (list, dict)):
            example_id = str(example_id)
        if self._known is not None:
            return self._known.get(example_id)
        if isinstance(example_id, int) and 0 <= example_id < self._examples:
            return example_id
        return self._positions.setdefault(example_id, len(self._positions))


def event_of(line: Line, row: int, number: int) -> RolloutFinished:
    """What lists need to know of a saved row."""
    saved = line.row or {}
    ours = saved.get("tui_eval") or {}
    timing = saved.get("timing") or {}
    usage = saved.get("token_usage") or {}
    error = _error_name(saved.get("error"))
    reward = _number(saved.get("reward"))
    metrics = {k: _number(v) for k, v in (saved.get("metrics") or {}).items()}
    steps = ours.get("steps")
    completion = saved.get("completion")
    turns = len(steps) if steps is not None else _count_role(completion, "assistant")
    calls = ours.get("tool_calls")
    started = _number(timing.get("start_time")) or 0.0
    total_ms = _number(timing.get("total_ms")) or 0.0
    return RolloutFinished(
        seq=0,
        at=started + total_ms / 1000,
        row=row,
        example_id=saved.get("example_id", saved.get("id")),
        number=number,
        attempt=ours.get("attempt", 1),
        offset=line.offset,
        length=line.length,
        reward=None if error is not None else reward,
        error=error,
        stop_condition=saved.get("stop_condition"),
        truncated=bool(saved.get("is_truncated")),
        turns=turns,
        tool_calls=len(calls) if calls is not None else _count_role(completion, "tool"),
        input_tokens=int(_number(usage.get("input_tokens")) or 0),
        output_tokens=int(_number(usage.get("output_tokens")) or 0),
        started_at=started,
        generation_ms=_number(timing.get("generation_ms")) or 0.0,
        scoring_ms=_number(timing.get("scoring_ms")) or 0.0,
        total_ms=total_ms,
        metrics={k: v for k, v in metrics.items() if v is not None},
    )


def _number(value: Any) -> float | None:
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return None


def _error_name(error: Any) -> str | None:
    if not error:
        return None
    if isinstance(error, Mapping):
        return str(error.get("error_chain_str") or error.get("error") or "error")
    return str(error)[:200]


def _count_role(completion: Any, role: str) -> int:
    if not isinstance(completion, list):
        return 0
    return sum(isinstance(m, Mapping) and m.get("role") == role for m in completion)

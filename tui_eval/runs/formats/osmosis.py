"""The results.json of an Osmosis evaluation: one document, without conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.fold.saved_values import mapping
from tui_eval.runs.scan import BYTE_ORDER_MARK, Line, decode_row


class _Row(msgspec.Struct):
    row_index: Any = None
    runs: list[msgspec.Raw] = []


class _Document(msgspec.Struct):
    rows: list[_Row] = []


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a row of the dataset, and where it is in the document."""

    row_index: Any
    line: Line


def is_osmosis(record: Mapping[str, Any]) -> bool:
    """Whether a document holds the results of an Osmosis evaluation."""
    config = mapping(record.get("config"))
    return isinstance(record.get("rows"), list) and ("eval_fns" in config or "n_runs" in config)


def is_run(record: Mapping[str, Any]) -> bool:
    """Whether this is one run of such a document."""
    return "run_index" in record and "scores" in record


def runs_of(path: Path) -> Iterator[Run]:
    """Every run of the document in its order.

    Raises:
        ValueError: The document cannot be read; the message says where it breaks off.
    """
    data = path.read_bytes()
    if data.startswith(BYTE_ORDER_MARK.encode()):
        data = b"   " + data[3:]  # every run keeps its place
    at = 0
    for row in msgspec.json.decode(data, type=_Document).rows:
        for raw in row.runs:
            text = bytes(raw)
            at = data.find(text, at)
            number = data.count(b"\n", 0, at) + 1
            try:
                found, fault = decode_row(text), ""
            except (ValueError, RecursionError) as error:
                found, fault = None, f"not a run: {error}"
            yield Run(row.row_index, Line(number, at, len(text), found, fault))
            at += len(text)


def row_of(run: Mapping[str, Any], row_index: Any = None) -> dict[str, Any]:
    """A run as a row: the first function gives the reward, and a failed run has an error."""
    scores = mapping(run.get("scores"))
    error = None
    if not run.get("success", True):
        error = {"error": run.get("error") or "the run failed and its file does not say why"}
    tokens = run.get("tokens")
    return {
        "example_id": row_index,
        "prompt": [],
        "completion": [],
        "reward": next(iter(scores.values()), None),
        "error": error,
        "timing": {"generation_ms": run.get("duration_ms"), "total_ms": run.get("duration_ms")},
        "metrics": dict(scores),
        "token_usage": {"input_tokens": 0, "output_tokens": tokens},
        "tui_eval": {"rollout": run.get("run_index")},
    }


def facts_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a run is, from the document's head."""
    config, summary = mapping(document.get("config")), mapping(document.get("summary"))
    return {
        "env_id": config.get("module"),
        "model": config.get("model"),
        "base_url": config.get("base_url"),
        "sampling_args": config.get("sampling"),
        "num_examples": summary.get("total_rows"),
        "rollouts_per_example": config.get("n_runs"),
        "pass_threshold": config.get("pass_threshold", 1.0),
        "time_ms": summary.get("total_duration_ms"),
    }

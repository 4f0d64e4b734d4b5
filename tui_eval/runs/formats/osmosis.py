"""The results.json of an Osmosis evaluation: one document, without conversations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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


class Run(msgspec.Struct, frozen=True):
    """One run of a row of the dataset, and where it is in the document."""

    row_index: Any
    line: Line


_HEAD = re.compile(r'"(?P<name>config|summary)"\s*:\s*')
_ROWS = re.compile(
    r'\{\s*"row_index"\s*:\s*(?P<index>-?\d+|null|"[^"\\]*")\s*,\s*"runs"\s*:\s*\[\s*'
)


def is_osmosis(record: Mapping[str, Any]) -> bool:
    """Whether a document holds the results of an Osmosis evaluation."""
    config = mapping(record.get("config"))
    return isinstance(record.get("rows"), list) and ("eval_fns" in config or "n_runs" in config)


def is_run(record: Mapping[str, Any]) -> bool:
    """Whether this is one run of such a document."""
    return "run_index" in record and "scores" in record


def runs_of(path: Path) -> Iterator[Run]:
    """Every run of the document in its order; of a torn one those that are whole.

    Raises:
        ValueError: The document is torn, which is reported last; the message says where.
    """
    data = path.read_bytes()
    if data.startswith(BYTE_ORDER_MARK.encode()):
        data = b"   " + data[3:]  # every run keeps its place
    try:
        rows = msgspec.json.decode(data, type=_Document).rows
    except ValueError:
        for row_index, at, text in _whole_runs(data):
            yield _run(data, row_index, at, text)
        if not _is_whole(data):  # Python writes NaN, which strict JSON refuses
            raise
        return
    at = 0
    for row in rows:
        for raw in row.runs:
            text = bytes(raw)
            at = data.find(text, at)
            yield _run(data, row.row_index, at, text)
            at += len(text)


def _is_whole(data: bytes) -> bool:
    try:
        return decode_row(data) is not None
    except (ValueError, RecursionError):
        return False


def _run(data: bytes, row_index: Any, at: int, text: bytes) -> Run:
    number = data.count(b"\n", 0, at) + 1
    try:
        found, fault = decode_row(text), ""
    except (ValueError, RecursionError) as error:
        found, fault = None, f"not a run: {error}"
    return Run(row_index, Line(number, at, len(text), found, fault))


def _whole_runs(data: bytes) -> Iterator[tuple[Any, int, bytes]]:
    """Runs of a document that is torn: the index of their row, and where they are."""
    text = data.decode("latin-1")  # a sign is a byte
    read = json.JSONDecoder().raw_decode
    for row in _ROWS.finditer(text):
        at = row.end()
        try:
            while text[at] == "{":
                _, end = read(text, at)
                yield json.loads(row["index"]), at, data[at:end]
                at = end
                while text[at] in " \t\r\n,":
                    at += 1
        except (ValueError, RecursionError, IndexError):
            continue


def head_of(path: Path) -> dict[str, Any]:
    """Head of a torn document: all before its rows."""
    try:
        text = path.read_text("utf-8", "replace")
        read = json.JSONDecoder().raw_decode
        return {one["name"]: read(text, one.end())[0] for one in _HEAD.finditer(text)}
    except (OSError, ValueError, RecursionError):
        return {}


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


def info_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Info of a run, from the document's head."""
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

"""A table of rollouts with their conversations as JSON text, in Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from tui_eval.fold.saved_values import mapping
from tui_eval.runs.export.source import ExportSource
from tui_eval.token_kinds import KINDS, from_names, named

if TYPE_CHECKING:
    import pyarrow

NEEDS = "pyarrow"
AT_ONCE = 500
"""Rows that are written together."""
TEXTS = ("example_id", "stage", "error", "error_class", "stop_condition", "finish_reason", "note")
COUNTS = ("number", "attempt", "turns", "tool_calls", "input_tokens", "output_tokens")
NUMBERS = ("reward", "time_s")
LISTS = ("tools", "failed_tools", "models", "tags")
SAVED = ("prompt", "completion", "answer", "info")


def write(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writing.Writer`."""
    from pyarrow import parquet

    schema = _schema(source.metrics, named(source.state.usage.kinds))
    with parquet.ParquetWriter(file, schema) as writer:
        waiting: list[dict[str, Any]] = []
        for written, (row, saved) in enumerate(source.saved(), 1):
            waiting.append(_record(source, row, saved))
            if len(waiting) == AT_ONCE:
                writer.write_table(_table(waiting, schema))
                waiting = []
            yield written
        writer.write_table(_table(waiting, schema))


def _table(rows: list[dict[str, Any]], schema: pyarrow.Schema) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_pylist(rows, schema)


def _schema(metrics: list[str], token_kinds: Iterable[str]) -> pyarrow.Schema:
    import pyarrow

    kinds = dict.fromkeys(TEXTS, pyarrow.string()) | dict.fromkeys(COUNTS, pyarrow.int64())
    kinds |= dict.fromkeys(NUMBERS, pyarrow.float64()) | {"is_truncated": pyarrow.bool_()}
    kinds |= dict.fromkeys(LISTS, pyarrow.list_(pyarrow.string()))
    kinds |= dict.fromkeys(SAVED, pyarrow.string())
    kinds |= {f"tokens.{name}": pyarrow.int64() for name in token_kinds}
    kinds |= {f"metrics.{name}": pyarrow.float64() for name in metrics}
    return pyarrow.schema(list(kinds.items()))


def _record(source: ExportSource, row: int, saved: dict[str, Any]) -> dict[str, Any]:
    facts = source.facts(row)
    for name in (*TEXTS, *LISTS):
        value = facts[name]
        if isinstance(value, list):
            facts[name] = [_whole(str(item)) for item in value]
        elif value is not None:
            facts[name] = _whole(str(value))
    facts |= {name: _text(saved.get(name)) for name in SAVED}
    reported = from_names(mapping(saved.get("tui_eval")).get("token_kinds"))
    facts |= {f"tokens.{name}": count for name, count in zip(KINDS, reported, strict=False)}
    return facts | {f"metrics.{name}": value for name, value in facts["metrics"].items()}


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return _whole(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _whole(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()

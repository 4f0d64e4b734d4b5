"""A rollout a line or a row, for programs: JSON as results.jsonl has it, CSV, Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from tui_eval.fold.saved_values import mapping, whole_text
from tui_eval.fold.trajectory import from_row
from tui_eval.printable import harmless
from tui_eval.runs.export.source import ExportSource, as_bytes, question_of, response_of
from tui_eval.runs.formats.detection import Format, as_row, format_of
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import decode_row
from tui_eval.token_kinds import KINDS, from_names, named

if TYPE_CHECKING:
    import pyarrow

AS_THEY_ARE = (Format.OURS, Format.VERIFIERS, None)
"""Formats whose lines are rows already."""

TEXTS = ("example_id", "stage", "error", "error_class", "stop_condition", "finish_reason", "note")
COUNTS = ("number", "attempt", "turns", "tool_calls", "input_tokens", "output_tokens")
NUMBERS = ("reward", "time_s")
LISTS = ("tools", "failed_tools", "models", "tags")
SAVED = ("prompt", "completion", "answer", "info")
AT_ONCE = 500
"""Rows that are written into a Parquet file together."""

CSV_FIRST = (
    *("example_id", "number", "stage", "reward", "error", "error_class", "stop_condition"),
    *("finish_reason", "is_truncated", "attempt", "turns", "tool_calls", "input_tokens"),
    *("output_tokens", "tokens", "time_s"),
)
CSV_LAST = ("tools", "failed_tools", "models", "question", "answer", "response", "note", "tags")
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
"""First characters of a cell that a spreadsheet may compute."""


def write_jsonl(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writer.Writer`."""
    written = 0
    for row, line in source.lines():
        try:
            found = _row_line(line, source.state.example_id(row))
        except (ValueError, RecursionError):  # the file has changed since it was read
            source.doubts[row] = f"{source.run.name}: rollout {row + 1} cannot be read any more"
            continue
        written += file.write(found + b"\n") > 0
        yield written


def _row_line(line: bytes, example_id: Any) -> bytes:
    """A saved rollout as one line of JSON, without its newline: unchanged where it is that already.

    What JSON cannot hold is replaced: NaN and infinite numbers by null, bytes that are no UTF-8 by
    U+FFFD, half a surrogate pair by its escape as text. The id is for a line that does not say it.
    Raises ValueError where it is no rollout.
    """
    try:
        record, is_json = msgspec.json.decode(line), True
    except (msgspec.DecodeError, UnicodeDecodeError):
        record, is_json = decode_row(line), False
    row = as_row(record)
    if example_id_of(row) is None:
        row = {**row, "example_id": example_id}
    elif is_json and format_of(record) in AS_THEY_ARE:
        return line.strip()
    return encode_whatever(row)


def write_csv(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writer.Writer`; with question and response, for spreadsheets."""
    kinds = named(source.state.usage.kinds)
    metrics = (f"metrics.{name}" for name in source.metrics)
    names = [*CSV_FIRST, *(f"tokens.{kind}" for kind in kinds), *metrics, *CSV_LAST]
    file.write(_line([safe_cell(name) for name in names]))
    for written, (row, saved) in enumerate(source.saved(), 1):
        record = source.record(row)
        rollout = from_row(row, saved)
        record |= {f"metrics.{name}": value for name, value in record["metrics"].items()}
        of_kinds = named(rollout.kinds)
        record |= {f"tokens.{kind}": of_kinds.get(kind, 0) for kind in kinds}
        record |= {name: " ".join(record[name]) for name in LISTS}
        record |= {
            "question": question_of(rollout),
            "answer": rollout.answer,
            "response": response_of(rollout),
        }
        file.write(_line([_cell(record.get(name)) for name in names]))
        yield written


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, (bool, int, float)) else safe_cell(str(value))


def safe_cell(text: str) -> str:
    """Text that no terminal acts on and, with an apostrophe before it, no spreadsheet computes."""
    text = harmless(text)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULAS) else text


def _line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return as_bytes(text.getvalue())


def write_parquet(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writer.Writer`; with conversations as JSON text. Needs pyarrow."""
    import pyarrow
    from pyarrow import parquet

    schema = _schema(source.metrics, named(source.state.usage.kinds))
    with parquet.ParquetWriter(file, schema) as writer:
        waiting: list[dict[str, Any]] = []
        for written, (row, saved) in enumerate(source.saved(), 1):
            waiting.append(_record(source, row, saved))
            if len(waiting) == AT_ONCE:
                writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
                waiting = []
            yield written
        writer.write_table(pyarrow.Table.from_pylist(waiting, schema))


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
    record = source.record(row)
    record |= {name: _text(record[name]) for name in TEXTS}
    record |= {name: [whole_text(str(item)) for item in record[name]] for name in LISTS}
    record |= {name: _json_text(saved.get(name)) for name in SAVED}
    reported = from_names(mapping(saved.get("tui_eval")).get("token_kinds"))
    record |= {f"tokens.{name}": count for name, count in zip(KINDS, reported, strict=False)}
    return record | {f"metrics.{name}": value for name, value in record["metrics"].items()}


def _text(value: Any) -> str | None:
    return None if value is None else whole_text(str(value))


def _json_text(value: Any) -> str | None:
    is_text = value is None or isinstance(value, str)
    return _text(value if is_text else json.dumps(value, ensure_ascii=False))

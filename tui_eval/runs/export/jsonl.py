"""A rollout a line, as results.jsonl has them, whatever program wrote the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.formats.recognising import Format, as_row, format_of
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import decode_row

AS_THEY_ARE = (Format.OURS, Format.VERIFIERS, None)
"""Formats whose lines are rows already."""


def write(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writing.Writer`."""
    written = 0
    for row, line in source.lines():
        try:
            found = row_line(line, source.state.example_id(row))
        except (ValueError, RecursionError):  # the file has changed since it was read
            source.doubts[row] = f"{source.run.name}: rollout {row + 1} cannot be read any more"
            continue
        written += file.write(found + b"\n") > 0
        yield written


def row_line(line: bytes, example_id: Any) -> bytes:
    """A saved rollout as one line of JSON, without its newline: unchanged where it is that already.

    What JSON cannot hold is replaced: NaN and infinite numbers by null, bytes that are no UTF-8 by
    U+FFFD, half a surrogate pair by its escape as text.

    Args:
        example_id: That of a rollout whose line does not say it.

    Raises:
        ValueError: It is no rollout.
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

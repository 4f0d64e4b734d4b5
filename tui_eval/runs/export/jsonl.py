"""Lines of results.jsonl as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tui_eval.runs.export.source import ExportSource


def write(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writing.Writer`."""
    for written, (_, line) in enumerate(source.lines(), 1):
        file.write(line)
        yield written

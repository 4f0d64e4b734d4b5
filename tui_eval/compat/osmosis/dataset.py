"""Datasets of the Osmosis SDK: JSON Lines, JSON, CSV and Parquet, rows checked all at once."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from tui_eval.errors import Fault, RefusedError
from tui_eval.install_commands import extra_command

WHERE = "-d/--dataset"
REQUIRED = ("system_prompt", "user_prompt")
COLUMNS = (*REQUIRED, "ground_truth")

MOST_FAULTS = 50
"""Faults of rows that are reported one by one."""

_BETWEEN = re.compile(r"[\s,]*")

Place: TypeAlias = tuple[str, Any]
"""The place of a row, and the row, or a `Fault` where it cannot be read."""


def read_dataset(path: Path, offset: int = 0) -> list[dict[str, Any]]:
    """The rows of a file from a place on, each ready to be an example of an environment.

    `example_id` is the row's place in the file from 0, `prompt` the two messages, `answer` the
    ground truth where there is one, `info["columns"]` the other columns.

    Raises:
        RefusedError: The file cannot be read, or rows of it cannot be used: every one of them.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        what = f"{path}: a dataset's name ends in {', '.join(_READERS)}"
        raise RefusedError([Fault(WHERE, what)])
    if not path.is_file():
        what = f"there is no file {path}"
        raise RefusedError([Fault(WHERE, what, f"A path is relative to {Path.cwd()}")])
    rows: list[dict[str, Any]] = []
    faults: list[Fault] = []
    try:
        for index, (where, row) in enumerate(reader(path)):
            if index < offset:
                continue
            wrong = [row] if isinstance(row, Fault) else list(_faults(where, row))
            if wrong:
                faults += wrong
            else:
                rows.append(_example(index, row))
    except OSError as error:
        raise RefusedError([Fault(WHERE, f"{path}: {error.strerror or error}")]) from error
    if not rows and not faults:
        after = f" after the first {offset}" if offset else ""
        faults = [Fault(WHERE, f"{path} has no rows{after}")]
    if len(faults) > MOST_FAULTS:
        more = Fault(str(path), f"{len(faults) - MOST_FAULTS:,} more faults of this kind")
        faults = [*faults[:MOST_FAULTS], more]
    if faults:
        raise RefusedError(faults)
    return rows


def _faults(where: str, row: Any) -> Iterator[Fault]:
    if not isinstance(row, Mapping):
        yield Fault(where, f"it is of type {type(row).__name__}, not an object")
        return
    known = _known(row)
    for name in REQUIRED:
        if name not in known:
            columns = ", ".join(map(str, row)) or "none"
            yield Fault(where, f"it has no {name!r}", f"Its columns: {columns}")
    for name, value in known.items():
        if value is None:
            if name in REQUIRED:
                yield Fault(where, f"its {name!r} is null")
        elif not isinstance(value, str):
            yield Fault(where, f"its {name!r} is of type {type(value).__name__}", "It must be text")
        elif name in REQUIRED and not value.strip():
            yield Fault(where, f"its {name!r} is empty")
    try:
        json.dumps(_others(row)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        yield Fault(where, f"its other columns cannot be kept as JSON: {error}")


def _known(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The columns that mean something, by their names in any case."""
    return {str(name).lower(): row[name] for name in row if str(name).lower() in COLUMNS}


def _others(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): row[name] for name in row if str(name).lower() not in COLUMNS}


def _example(index: int, row: Mapping[str, Any]) -> dict[str, Any]:
    known, others = _known(row), _others(row)
    example: dict[str, Any] = {
        "example_id": index,
        "prompt": [
            {"role": "system", "content": known["system_prompt"]},
            {"role": "user", "content": known["user_prompt"]},
        ],
    }
    if known.get("ground_truth") is not None:
        example["answer"] = known["ground_truth"]
    if others:
        example["info"] = {"columns": others}
    return example


def _read_jsonl(path: Path) -> Iterator[Place]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.strip():
                continue
            where = f"{path} line {number}"
            try:
                yield where, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield where, Fault(where, f"it is not JSON: {error}")


def _read_json(path: Path) -> Iterator[Place]:
    content = path.read_bytes()
    try:
        text = content.decode(json.detect_encoding(content))
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError([Fault(str(path), f"it is not JSON: {error}")]) from error
    if not isinstance(rows, list):
        kind = type(rows).__name__
        what = f"it holds a {kind}, not an array of objects"
        raise RefusedError([Fault(str(path), what, "Write [{...}, {...}], or name it .jsonl")])
    for index, (line, row) in enumerate(zip(_lines(text, len(rows)), rows, strict=True)):
        yield f"{path} line {line}, row {index}", row


def _lines(text: str, count: int) -> Iterator[int]:
    """The line on which each element of a JSON array begins."""
    read = json.JSONDecoder().raw_decode
    line, reported, place = 1, 0, text.index("[") + 1
    for _ in range(count):
        begin = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
        line += text.count("\n", reported, begin)
        yield line
        reported = begin
        _, place = read(text, begin)


def _read_csv(path: Path) -> Iterator[Place]:
    """Every value is text; one that is empty is no value."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        try:
            for row in reader:
                where = f"{path} line {reader.line_num}"
                if row.pop(None, None) is not None:
                    yield where, Fault(where, "it has more values than the first line has names")
                else:
                    yield where, {name: value or None for name, value in row.items()}
        except (csv.Error, UnicodeDecodeError) as error:
            where = f"{path} line {reader.line_num + 1}"
            yield where, Fault(where, f"it is no CSV: {error}")


def _read_parquet(path: Path) -> Iterator[Place]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        hint = f"Install it: {extra_command('hub')}"
        raise RefusedError([Fault(str(path), "Parquet needs the package pyarrow", hint)]) from None
    index = count()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from ((f"{path} row {next(index)}", row) for row in batch.to_pylist())
    except ArrowException as error:
        raise RefusedError([Fault(str(path), f"it is no Parquet file: {error}")]) from error


_READERS: dict[str, Callable[[Path], Iterator[Place]]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}

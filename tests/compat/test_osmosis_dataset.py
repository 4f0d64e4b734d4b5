"""Datasets in every format, and what is said of rows that cannot be used."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from tui_eval.compat.osmosis.dataset import MOST_FAULTS, read_dataset
from tui_eval.errors import RefusedError

ROWS: list[dict[str, Any]] = [
    {"system_prompt": "s", "user_prompt": "first", "ground_truth": "1", "level": 2},
    {"system_prompt": "s", "user_prompt": "second", "ground_truth": None, "level": 3},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".jsonl":
        path.write_text("\ufeff" + "\n\n".join(json.dumps(row) for row in rows))
    elif path.suffix == ".parquet":
        from pyarrow import Table, parquet

        parquet.write_table(Table.from_pylist(rows), path)
    else:
        lines = [",".join(rows[0]), *(",".join(_cell(v) for v in r.values()) for r in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.JSONL", "a.parquet", "a.csv"])
def test_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.lower()
    write(path, ROWS)
    if name != name.lower():
        path = path.rename(tmp_path / name)
    first, second = read_dataset(path)
    assert first["prompt"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "first"},
    ]
    assert (first["example_id"], first["answer"]) == (0, "1")
    assert "answer" not in second
    level = "3" if name.endswith("csv") else 3
    assert second["info"] == {"columns": {"level": level}}
    (only,) = read_dataset(path, offset=1)
    assert only["example_id"] == 1


def faults_of(path: Path, offset: int = 0) -> list[str]:
    with pytest.raises(RefusedError) as error:
        read_dataset(path, offset)
    return [str(fault) for fault in error.value.faults]


def test_rows_before_the_offset_are_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("nonsense\n" + json.dumps(ROWS[0]))
    assert len(read_dataset(path, offset=1)) == 1
    assert len(faults_of(path)) == 1


def test_very_many_faults_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[]\n" * (MOST_FAULTS + 7))
    reported = faults_of(path)
    assert len(reported) == MOST_FAULTS + 1
    assert reported[-1].endswith("7 more faults of this kind")


@pytest.mark.parametrize(
    ("name", "content", "reported"),
    [
        ("a.json", b'{"rows": []}', "it holds a dict, not an array of objects"),
        ("a.json", b"[1", "it is not JSON"),
        ("a.json", b"[[1]]", "line 1, row 0: it is of type list, not an object"),
        (
            "a.json",
            b'\xef\xbb\xbf\n[\n {\n  "a": "x,\\n]"\n },\n\n 7]\n',
            "line 7, row 1: it is of type int",
        ),
        ("a.json", "[\r\n1]".encode("utf-16"), "line 2, row 0: it is of type int"),
        ("a.json", b"[]", "has no rows"),
        ("a.jsonl", b"", "has no rows"),
        ("a.csv", b"system_prompt,user_prompt\ns,u,more\n", "line 2: it has more values"),
        ("a.csv", b"system_prompt,user_prompt\ns\n", "line 2: its 'user_prompt' is null"),
        ("a.csv", b"system_prompt,user_prompt\n\xff,u\n", "it is no CSV"),
        ("a.csv", b"prompt\nx\n", "it has no 'user_prompt'. Its columns: prompt"),
        ("a.parquet", b"PAR1 no", "it is no Parquet file"),
        ("a.txt", b"", "a dataset's name ends in .jsonl, .json, .csv, .parquet"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: bytes, reported: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert any(reported in fault for fault in faults_of(path)), faults_of(path)


def test_values_that_json_does_not_have_are_reported(tmp_path: Path) -> None:
    row = {**ROWS[0], "seen": datetime.date(2026, 1, 1)}
    (reported,) = faults_of(write(tmp_path / "a.parquet", [row]))
    assert "row 0: its other columns cannot be kept as JSON" in reported

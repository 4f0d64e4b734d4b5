"""`tui-eval export`: the rollouts of any format that is read, the same ones in every form."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import Program

DATA = Path(__file__).parents[1] / "data"
RUNS = sorted((DATA / "runs").iterdir())
OTHERS = sorted((DATA / "others").iterdir())
EPISODE = {
    "id": "e1",
    "ok": True,
    "task": {"type": "math", "data": {"idx": 4, "answer": "2"}},
    "traces": [
        {
            "agent": {"trainable": True, "config": {"model": "m"}},
            "nodes": [
                {"message": {"role": "user", "content": "1 + 1?"}, "sampled": False},
                {"message": {"role": "assistant", "content": "2"}, "sampled": True, "parent": 0},
            ],
            "rewards": {"right": {"score": 1.0, "weight": 1.0}},
        }
    ],
}


def refused(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def exported(program: Program, run: Path, *flags: str) -> list[dict[str, Any]]:
    done = command_here(
        program, "export", str(run), "--format", "jsonl", "-o", "lines.jsonl", *flags
    )
    assert done.code == 0, done
    data = (program.folder / "lines.jsonl").read_bytes()
    assert data.endswith(b"\n") and b"\r" not in data
    lines = data.decode("utf-8").split("\n")[:-1]
    return [json.loads(line, parse_constant=refused) for line in lines]


def report(program: Program, run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command_here(program, "report", str(run), "--json").out)
    return found


@pytest.mark.parametrize("source", [*RUNS, *OTHERS], ids=lambda path: path.name)
def test_lines_of_any_format_are_rows_and_are_read_back_as_the_same_run(
    program: Program, source: Path
) -> None:
    before = report(program, source)
    rows = exported(program, source)
    assert len(rows) == before["counts"]["finished"] > 0
    for row in rows:
        assert isinstance(row["prompt"], (list, str)) and isinstance(row["completion"], list)
        assert "example_id" in row or "id" in row
        assert isinstance(row.get("metrics", {}), dict)
    again = report(program, program.folder / "lines.jsonl")
    for name in ("counts", "reward", "metrics", "tokens", "tool_calls", "errors"):
        assert again[name] == before[name], name
    assert again["per_example"] == before["per_example"]


def test_an_episode_is_exported_as_a_row(program: Program) -> None:
    path = program.folder / "traces.jsonl"
    path.write_text(json.dumps(EPISODE) + "\n")
    (row,) = exported(program, path)
    assert (row["example_id"], row["reward"], row["answer"]) == (4, 1.0, "2")
    assert [one["content"] for one in row["prompt"] + row["completion"]] == ["1 + 1?", "2"]


ROW = (
    b'{"example_id": %d, "prompt": "q%d", "completion": [{"role": "assistant", "content": "%s"}],'
    b' "reward": %s, "metrics": {"a": %s}}'
)


def test_what_no_json_holds_is_written_as_json(program: Program) -> None:
    path = program.folder / "odd.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf"
        + ROW % (0, 0, b"ok", b"1", b"NaN")
        + b"\r\n\r\n"
        + ROW % (1, 1, b"caf\xe9", b"0", b"-Infinity")
        + b"\r\n[1]\n"
        + ROW % (2, 2, b"half \\ud83d", b"1", b"1e999")
        + b"\n"
        + ROW % (3, 3, b"\\u2028 \xe2\x80\xa8 \xc2\x85", b"1", b"7" * 5000)
    )
    rows = exported(program, path)
    assert [row["example_id"] for row in rows] == [0, 1, 2, 3]
    said = [row["completion"][0]["content"] for row in rows]
    assert said == ["ok", "caf\ufffd", "half \\ud83d", "\u2028 \u2028 \x85"]
    assert [row["metrics"]["a"] for row in rows[:3]] == [None, None, None]
    table = command_here(program, "export", str(path), "-o", "table.csv")
    assert table.code == 0, table
    with open(program.folder / "table.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4


def test_every_line_that_is_good_stays_as_it_was(program: Program) -> None:
    for source in RUNS:
        if source.name != "prime-hosted":
            exported(program, source, "--overwrite")
            written = (program.folder / "lines.jsonl").read_bytes().splitlines()
            saved = (source / "results.jsonl").read_bytes().splitlines()
            assert sorted(written) == sorted(saved), source.name

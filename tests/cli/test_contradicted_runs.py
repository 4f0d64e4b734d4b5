"""Runs with files that contradict each other: rows count, a contradiction is reported once."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import Program
from run_here import run_here
from tiers import first_always

RUNS = Path(__file__).parents[1] / "data" / "runs"
OTHERS = RUNS.parent / "others"
Edit = Callable[[list[bytes]], bytes]


def copied(
    program: Program, source: Path, name: str = "run", edit: Edit | None = None, **meta: Any
) -> Path:
    """A copy of a saved run with other lines, or other metadata."""
    run = program.folder / name
    shutil.copytree(source, run)
    results, metadata = run / "results.jsonl", run / "metadata.json"
    if edit is not None:
        results.write_bytes(edit(results.read_bytes().splitlines(keepends=True)))
    if meta:
        metadata.write_text(json.dumps(json.loads(metadata.read_text()) | meta))
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of ours, which the tests copy."""
    program = Program(tmp_path_factory.mktemp("finished"))
    done = run_here(program, "reverse-text", "-m", "demo", "-n", "2", "-r", "2", "-s")
    assert done.code == 0, done
    return program.only_run().path


def reported(program: Program, run: Path) -> tuple[dict[str, Any], list[str]]:
    """The summary of a run as JSON, and the warnings of its report."""
    printed = command_here(program, "report", str(run))
    assert printed.code == 0, printed
    found = json.loads(command_here(program, "report", str(run), "--json").out)
    return found, [line.removeprefix("warning: ") for line in printed.err.splitlines()]


def counts(found: dict[str, Any]) -> tuple[int, ...]:
    names = ("rollouts", "finished", "used", "errored", "missing")
    return tuple(found["counts"][name] for name in names)


V11 = RUNS / "verifiers-0.1.11"
COUNTS = "the rows count"


@pytest.mark.parametrize(
    ("meta", "reported_as"),
    [
        ({"avg_reward": 0.91}, "metadata.json says avg_reward 0.91, the rows come to 0.5"),
        ({"avg_reward": 10 / 11}, "metadata.json says avg_reward 0.9091, the rows come to 0.5"),
        (
            {"avg_reward": 0.50000321},
            "metadata.json says avg_reward 0.50000321, the rows come to 0.5",
        ),
        (
            {"numbers": {"counts": {"finished": 9}}},
            "metadata.json says 9 rollouts finished, the rows show 4",
        ),
        (
            {"avg_metrics": {"ok": 0.25, "num_turns": 2.0}},
            "metadata.json says avg_metrics.ok 0.25, the rows come to 0.5",
        ),
        ({"avg_reward": math.nan}, "metadata.json says avg_reward nan, the rows come to 0.5"),
        ({"avg_reward": "high"}, "metadata.json says avg_reward high, the rows come to 0.5"),
        (
            {"avg_reward": 10**400},
            f"metadata.json says avg_reward 1{'0' * 18}…, the rows come to 0.5",
        ),
        ({"avg_error": 0.5}, "metadata.json says avg_error 0.5, the rows come to 0"),
        (
            {"num_examples": 1},
            "metadata.json says num_examples 1 and rollouts_per_example 2, the rows show 2 and 2",
        ),
        (
            {"num_examples": 4, "rollouts_per_example": 1},
            "metadata.json says num_examples 4 and rollouts_per_example 1, the rows show 2 and 2",
        ),
        ({"date": "2031-01-01"}, "metadata.json says date 2031-01-01, the rows are of 2026-11-20"),
    ],
)
def test_metadata_that_contradicts_the_rows_is_reported_once_and_the_rows_count(
    program: Program, meta: dict[str, Any], reported_as: str
) -> None:
    found, warnings = reported(program, copied(program, V11, **meta))
    assert found["contradictions"] == warnings == [f"{reported_as}: {COUNTS}"]
    assert counts(found) == (4, 4, 4, 0, 0) and found["status"] == "finished"
    assert found["reward"]["mean"] == 0.5
    assert found["settings"]["num_examples"] == found["settings"]["rollouts_per_example"] == 2


@pytest.mark.parametrize("name", ["verifiers-0.1.11", "verifiers-2025-08", "prime-hosted"])
def test_files_that_agree_have_no_contradiction(program: Program, name: str) -> None:
    found, warnings = reported(program, RUNS / name)
    assert found["contradictions"] == warnings == []


def test_a_run_that_is_not_whole_is_no_contradiction(program: Program) -> None:
    run = copied(program, V11, num_examples=5)
    found, warnings = reported(program, run)
    assert (found["contradictions"], warnings) == ([], [])
    assert counts(found) == (10, 4, 4, 0, 6) and found["status"] == "interrupted"


def test_a_comparison_doubts_a_run_whose_metadata_contradicts_it(program: Program) -> None:
    run = copied(program, V11, avg_reward=0.91)
    done = command_here(program, "compare", str(V11), str(run), "--json")
    (other,) = json.loads(done.out)["comparisons"]
    said = f"metadata.json says avg_reward 0.91, the rows come to 0.5: {COUNTS}"
    assert other["doubts"] == [f"of the second run {said}"]


def test_a_gate_reports_a_contradiction_once(program: Program) -> None:
    run = copied(program, V11, avg_reward=0.91)
    done = program.run("gate", str(V11), str(run))
    assert done.code == 6 and (done.out + done.err).count("avg_reward 0.91") == 1


def test_a_table_of_runs_reports_which_one_is_contradicted(program: Program) -> None:
    run = copied(program, V11, avg_reward=0.91)
    done = command_here(program, "report", str(V11), str(run))
    assert done.code == 0 and done.err.count("avg_reward 0.91") == 1
    assert done.err.startswith(f"warning: {run}: metadata.json says")


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: b"".join([lines[0], *lines, lines[0]]),
        lambda lines: b"".join(lines * 3),
    ],
)
def test_rows_that_are_there_twice_count_once(program: Program, edit: Edit) -> None:
    pytest.importorskip("pyarrow")
    source = RUNS / "verifiers-2025-08"
    found, warnings = reported(program, run := copied(program, source, edit=edit))
    (said,) = found["contradictions"]
    extra = len((run / "results.jsonl").read_bytes().splitlines()) - 4
    assert said.startswith(f"results.jsonl: {extra} rows are there twice and count once: line")
    assert warnings == [said]
    assert counts(found) == (4, 4, 4, 0, 0)
    assert found["per_example"] == reported(program, source)[0]["per_example"]
    for kind in ("jsonl", "csv", "md", "html", "parquet"):
        done = command_here(program, "export", str(run), "-o", f"out.{kind}", "--overwrite")
        assert "4 rollouts written" in done.out and said in done.err
    assert len((program.folder / "out.jsonl").read_text().splitlines()) == 4
    with open(program.folder / "out.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4
    listed = command_here(program, "ls", str(run))
    assert len(listed.out.splitlines()) == 5


def test_equal_rows_of_a_run_that_has_no_more_than_it_requested_all_count(
    program: Program,
) -> None:
    found, _ = reported(program, RUNS / "verifiers-2025-09-wrong-counts")
    assert counts(found) == (6, 6, 6, 0, 0)
    shape = "num_examples 6 and rollouts_per_example 1, the rows show 2 and 3"
    assert found["contradictions"] == [
        f"metadata.json says {shape}: {COUNTS}",
        f"metadata.json says avg_reward 0, the rows come to 1: {COUNTS}",
    ]


def changed(line: bytes, **fields: Any) -> bytes:
    return json.dumps(json.loads(line) | fields).encode() + b"\n"


def test_of_two_rows_of_one_rollout_the_first_without_an_error_counts(
    program: Program, finished: Path
) -> None:
    path = copied(program, finished)
    results = path / "results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    other = changed(lines[0], reward=77.0)
    failed = changed(lines[1], reward=None, error={"error": "E", "error_chain_str": "E"})
    results.write_bytes(b"".join([lines[0], failed, other, *lines[1:]]))
    found, warnings = reported(program, path)
    said = "results.jsonl: 2 rows are there twice and count once: lines 2, 3"
    assert [one.partition(";")[0] for one in warnings] == [said]
    assert found["contradictions"] == warnings
    assert counts(found) == (4, 4, 4, 0, 0)
    rewards = sorted(json.loads(line)["reward"] for line in lines)
    assert found["reward"]["mean"] == pytest.approx(sum(rewards) / 4)
    assert command_here(program, "export", str(path), "-o", "out.jsonl").code == 0
    rows = [json.loads(line) for line in (program.folder / "out.jsonl").read_text().splitlines()]
    assert sorted(row["reward"] for row in rows) == rewards
    assert reported(program, path)[0]["counts"] == found["counts"], "as its index has it"


def test_what_was_requested_holds_where_metadata_says_something_else(
    program: Program, finished: Path
) -> None:
    path = copied(program, finished)
    metadata = json.loads((path / "metadata.json").read_text())
    claims = {"num_examples": 1, "rollouts_per_example": 1, "model": "other/model"}
    (path / "metadata.json").write_text(json.dumps(metadata | claims))
    found, warnings = reported(program, path)
    assert counts(found) == (4, 4, 4, 0, 0)
    assert found["settings"]["model"] == "demo-scripted-policy"
    assert (
        found["contradictions"]
        == warnings
        == [
            "metadata.json says num_examples 1 and rollouts_per_example 1, run.toml says 2 and 2: "
            "run.toml counts",
            "metadata.json says model other/model, run.toml says demo-scripted-policy: "
            "run.toml counts",
        ]
    )


TORN: list[Edit] = [
    lambda lines: b"".join(lines)[:-60],
    lambda lines: b"".join(lines)[:-60] + b"\n",
    lambda lines: b"".join(lines[:-1]) + lines[-1][:9] + "步".encode()[:2],
    lambda lines: b"".join(lines[:-1]) + lines[-1][:9] + "步".encode()[:2] + b"\r\n",
]


@pytest.mark.parametrize("edit", first_always(TORN))
@pytest.mark.parametrize("ours", [False, True])
def test_a_torn_last_row_is_missing(
    program: Program, finished: Path, edit: Edit, ours: bool
) -> None:
    run = copied(program, finished if ours else V11, edit=edit)
    found, warnings = reported(program, run)
    assert counts(found) == (4, 3, 3, 0, 1)
    assert (found["status"], found["exit_code"]) == ("interrupted", 130)
    assert warnings[0].startswith("results.jsonl, line 4: ")
    printed = command_here(program, "report", str(run)).out
    assert "Interrupted: 3 of 4 rollouts are done." in printed
    assert "3 used, 0 errored, 1 missing of 4" in printed
    exported = command_here(program, "export", str(run), "-o", "out.jsonl")
    assert exported.out == "3 rollouts written to out.jsonl\n"
    assert len((program.folder / "out.jsonl").read_text().splitlines()) == 3
    compared = json.loads(command_here(program, "compare", str(run), str(run), "--json").out)
    assert "not every rollout is finished" in compared["comparisons"][0]["doubts"]


def test_a_torn_last_row_is_missing_where_nobody_reported_how_many_there_are(
    program: Program,
) -> None:
    run = copied(program, V11, edit=TORN[0])
    (run / "metadata.json").unlink()
    found, _ = reported(program, run)
    assert counts(found) == (4, 3, 3, 0, 1) and found["status"] == "interrupted"


@pytest.mark.parametrize("edit", TORN[:3])
def test_a_resume_runs_a_torn_row_again(program: Program, finished: Path, edit: Edit) -> None:
    run = copied(program, finished, edit=edit)
    done = run_here(program, "--resume", str(run), "-d")
    assert done.code == 0, done
    found, warnings = reported(program, run)
    assert (counts(found), warnings) == ((4, 4, 4, 0, 0), [])
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len(rows) == 4


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: b"".join(lines).replace(b"\n", b"\r\n"),
        lambda lines: b"\xef\xbb\xbf" + b"".join(lines),
        lambda lines: b"".join(lines).replace(b"\n", b"\n\n \n"),
        lambda lines: b"".join(lines)[:-1],
    ],
)
def test_line_ends_marks_and_blank_lines_change_nothing(program: Program, edit: Edit) -> None:
    found, warnings = reported(program, copied(program, V11, edit=edit))
    assert (counts(found), warnings) == ((4, 4, 4, 0, 0), [])
    assert found["contradictions"] == []


def test_an_empty_file_is_no_contradiction(program: Program) -> None:
    found, warnings = reported(program, copied(program, V11, edit=lambda lines: b""))
    assert counts(found) == (4, 0, 0, 0, 4) and found["contradictions"] == warnings == []

"""Making a run's files whole before it is resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import line, rows_of, write_run

from tui_eval.runs import repair as repairing
from tui_eval.runs.index import IndexReader
from tui_eval.runs.layout import RunDir
from tui_eval.runs.repair import Repaired, repair
from tui_eval.runs.saved_run import finished_on_disk
from tui_eval.runs.scan import scan


def repaired(run: RunDir, *, keep_errors: bool = False, **fields: Any) -> Repaired:
    values = {"rollouts_per_example": 2, "examples": 2, **fields}
    return repair(run, keep_errors=keep_errors, **values)


def aside(run: RunDir) -> list[bytes]:
    return run.superseded.read_bytes().splitlines() if run.superseded.exists() else []


def check_places(run: RunDir, found: Repaired) -> None:
    """Every kept row is where its event says, and the index says the same."""
    for event in found.kept:
        one = next(scan(run.results, event.offset))
        assert one.row is not None and one.length == event.length
    assert sum(event.length for event in found.kept) == run.results.stat().st_size
    assert IndexReader(run.index).read() == found.kept


def test_a_whole_file_is_not_touched(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(1, 0), line(0, 0), line(0, 1)])
    before = run.results.stat()
    found = repaired(run)
    assert run.results.stat().st_ino == before.st_ino
    assert [event.row for event in found.kept] == [2, 0, 1]
    assert (found.rerun, found.dropped, aside(run)) == ([], [], [])
    check_places(run, found)


def test_a_torn_last_line_is_put_aside(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0), line(0, 1)[:30]])
    found = repaired(run)
    assert [event.row for event in found.kept] == [0]
    assert found.dropped == ["line 2 of results.jsonl: the line was not finished"]
    assert aside(run) == [line(0, 1)[:30]]
    check_places(run, found)


def test_a_whole_last_line_without_its_newline_stays(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0), line(0, 1).rstrip()])
    found = repaired(run)
    assert [event.row for event in found.kept] == [0, 1]
    assert run.results.read_bytes() == line(0, 0) + line(0, 1)
    assert (found.dropped, aside(run)) == ([], [])
    check_places(run, found)


def test_garbage_in_the_middle_is_put_aside_and_named_by_its_line(tmp_path: Path) -> None:
    junk = [b"not json\n", b"[1]\n", b"\xff\xfe\n", b"\x00\x00\n"]
    run = write_run(tmp_path, [line(0, 0), *junk, line(1, 1)])
    found = repaired(run)
    assert [event.row for event in found.kept] == [0, 3]
    assert [text.split(":")[0] for text in found.dropped] == [
        f"line {number} of results.jsonl" for number in (2, 3, 4, 5)
    ]
    assert aside(run) == [text.rstrip(b"\n") for text in junk]
    check_places(run, found)


def test_errored_rows_run_again_and_are_kept_aside(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0, error=True), line(0, 1), line(1, 0, error=True)])
    found = repaired(run)
    assert ([one.row for one in found.rerun], [one.row for one in found.kept]) == ([0, 2], [1])
    assert [json.loads(text)["example_id"] for text in aside(run)] == [0, 1]
    check_places(run, found)


def test_errored_rows_stay_where_that_is_requested(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0, error=True), line(0, 1)])
    found = repaired(run, keep_errors=True)
    assert (found.rerun, [event.row for event in found.kept]) == ([], [0, 1])
    assert found.kept[0].reward is None


def test_of_several_rows_of_one_rollout_the_first_without_error_stays(tmp_path: Path) -> None:
    lines = [line(0, 0, 0.1, error=True), line(0, 0, 0.2), line(0, 0, 0.3), line(0, 0, error=True)]
    run = write_run(tmp_path, lines)
    found = repaired(run, keep_errors=True)
    assert [row["reward"] for row in rows_of(run)] == [0.2]
    assert len(aside(run)) == 3
    check_places(run, found)


def test_a_row_that_stands_for_an_earlier_one_keeps_its_place_in_the_file(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0, error=True), line(0, 1), line(0, 0), line(1, 0)])
    found = repaired(run)
    assert [event.row for event in found.kept] == [1, 0, 2]
    assert run.results.read_bytes() == line(0, 1) + line(0, 0) + line(1, 0)
    check_places(run, found)


def test_rows_outside_of_the_run_are_put_aside(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line("a", 0), line("z", 0), line("b", 2), line("b", 1)])
    found = repaired(run, positions={"a": 0, "b": 1})
    assert [event.row for event in found.kept] == [0, 3]
    assert [text.split(": ")[1] for text in found.dropped] == ["the run has no such rollout"] * 2


def test_rows_of_other_programs_are_numbered_in_order(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(1, None), line(0, None), line(1, None), line(1, None)])
    found = repaired(run)
    assert [event.row for event in found.kept] == [2, 0, 3]
    assert len(aside(run)) == 1


def test_an_interrupted_repair_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(0, 0), line(0, 1, error=True), b"junk\n", line(1, 0), line(1, 1)[:30]]
    run = write_run(tmp_path, lines)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            repaired(run)
    assert run.results.read_bytes() == b"".join(lines)
    found = repaired(run)
    assert [event.row for event in found.kept] == [0, 2]
    gone = [lines[1], lines[2], lines[4]]
    assert sorted(aside(run)) == sorted(text.rstrip(b"\n") for text in gone)
    check_places(run, found)


def test_a_death_between_the_two_files_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path, [line(0, 0), b"junk\n", line(1, 0)])

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(repairing, "new_index", lambda *_: SimpleNamespace(replace=die))
        with pytest.raises(KeyboardInterrupt):
            repaired(run)
    check_places(run, repaired(run))
    assert aside(run) == [b"junk"]


def test_all_that_a_repair_writes_is_flushed_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path, [line(0, 0), line(0, 1, error=True)])
    flushed: list[tuple[int, int]] = []

    def note(fd: int) -> None:
        status = os.fstat(fd)
        flushed.append((status.st_ino, status.st_size))

    monkeypatch.setattr(os, "fdatasync", note)
    repaired(run)
    files = [path.stat() for path in (run.superseded, run.results)]
    assert flushed == [(status.st_ino, status.st_size) for status in files]


def test_where_the_index_cannot_be_written_all_is_as_it_was(tmp_path: Path) -> None:
    rows = [line(0, 0), line(0, 1, error=True)]
    run = write_run(tmp_path, rows)
    run.index.with_suffix(f".index.{os.getpid()}.new").mkdir()  # where a new one is made
    with pytest.raises(OSError):
        repaired(run)
    assert run.results.read_bytes() == b"".join(rows)
    assert not run.results.with_suffix(".jsonl.new").exists()


def test_a_torn_line_in_the_file_aside_does_not_swallow_the_next(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0, error=True)])
    run.superseded.write_bytes(b'{"torn')
    repaired(run)
    assert aside(run) == [b'{"torn', line(0, 0, error=True).rstrip()]


def test_a_line_that_equals_one_of_an_earlier_repair_is_put_aside_too(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0), b"junk\n"])
    run.superseded.write_bytes(b"junk\n" + line(0, 1, error=True))
    repaired(run)
    assert aside(run) == [b"junk", line(0, 1, error=True).rstrip(), b"junk"]


def test_a_run_without_results_has_nothing_to_repair(tmp_path: Path) -> None:
    assert repaired(RunDir(tmp_path)).kept == []


JUNK = st.sampled_from([b"junk\n", b"{}\n", b"\n", b"[]\n", b"\xff\n"])
OURS = st.builds(line, st.integers(0, 2), st.integers(0, 3), st.just(0.5), st.booleans())
OTHERS = st.builds(line, st.integers(0, 2), st.none())
FILES = st.lists(OURS | JUNK, max_size=12) | st.lists(OTHERS | JUNK, max_size=12)


@settings(max_examples=60)
@given(FILES, st.integers(0, 40), st.booleans())
def test_a_repair_keeps_every_byte_and_a_second_one_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cut: int, keep_errors: bool
) -> None:
    run = write_run(tmp_path_factory.mktemp("run"), lines)
    whole = run.results.read_bytes()
    run.results.write_bytes(whole[: len(whole) - cut] if lines else b"")
    before = [text for text in run.results.read_bytes().splitlines() if text.strip()]
    places = {0: 0, 1: 1}
    found = repaired(run, keep_errors=keep_errors, positions=places)
    rows = [event.row for event in found.kept]
    assert len(rows) == len(set(rows))
    assert keep_errors or not any(event.error for event in found.kept)
    after = [text for text in run.results.read_bytes().splitlines() if text.strip()]
    assert sorted(after + aside(run)) == sorted(before)
    content = run.results.read_bytes()
    again = repaired(run, keep_errors=keep_errors, positions=places)
    assert run.results.read_bytes() == content
    assert [event.row for event in again.kept] == rows
    assert (again.rerun, again.dropped) == ([], [])
    run.results.unlink()


KILLED = """
import os, pathlib, sys
from tui_eval.runs.layout import RunDir
from tui_eval.runs.repair import repair

left = int(sys.argv[2])

def dies_before(function):
    def wrapped(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*args, **kwargs)
    return wrapped

os.fdatasync = dies_before(os.fdatasync)
for name in ("replace", "write_bytes"):
    setattr(pathlib.Path, name, dies_before(getattr(pathlib.Path, name)))
repair(RunDir(pathlib.Path(sys.argv[1])), rollouts_per_example=1, examples=4, keep_errors=False,
       again=[1, 3])
"""


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.process
def test_killed_at_any_step_it_leaves_every_row_once_and_a_run_that_can_be_read(
    tmp_path: Path, steps: int
) -> None:
    rows = [line(0, 0), line(1, 0, error="E"), line(2, 0, error="E"), line(3, 0, error="E")]
    run = write_run(tmp_path, rows, examples=4, per_example=1)
    done = subprocess.run([sys.executable, "-c", KILLED, str(run.path), str(steps)], check=False)
    assert done.returncode == (9 if steps < 5 else 0)
    there = [one.row["example_id"] for one in scan(run.results) if one.row is not None]
    assert there in ([0, 1, 2, 3], [0, 2])
    assert [event.row for event in finished_on_disk(run)] == there
    found = repaired(run, rollouts_per_example=1, examples=4, again=[1, 3])
    assert [event.row for event in found.kept] == [0, 2]
    assert aside(run) == [rows[1].rstrip(), rows[3].rstrip()]
    check_places(run, found)

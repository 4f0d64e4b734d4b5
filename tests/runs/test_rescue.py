"""What was rescued of a run: found by its session."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tui_eval.runs.layout import RunDir
from tui_eval.runs.rescue import (
    continued_in,
    find_rescued,
    kept_elsewhere,
    note_continued,
    remove_taken_in,
    rescue,
    take_in,
)
from tui_eval.runs.unsaved import KEPT_S, prune

ROWS = [b'{"example_id": 0}\n', b'{"example_id": 1}\n']
RECORDS = [b'{"row": 2}\n']


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return run_of("one", tmp_path / "run")


def run_of(session: str, path: Path) -> RunDir:
    path.mkdir()
    (path / "run.toml").write_text(f'session = "{session}"\n')
    (path / "results.jsonl").write_bytes(b'{"example_id": 3}\n{"exam')
    return RunDir(path)


def kept(run: RunDir) -> tuple[bytes, bytes]:
    return run.results.read_bytes(), run.journal.read_bytes()


def test_it_is_found_by_the_session_alone_and_is_there_once_where_taking_in_was_cut_off(
    run: RunDir, tmp_path: Path
) -> None:
    rescue("one", ROWS[:1], [])
    folder = rescue("one", ROWS[1:], RECORDS)
    assert not find_rescued(run_of("two", tmp_path / "other"))
    [found] = find_rescued(run)
    assert found.text == (
        f"2 rows and 1 answer that the disk had refused are in {folder}: a resume takes them in"
    )
    reports = take_in(run)
    assert reports == [f"Taken in from {folder}, which the disk had refused: 2 rows and 1 answer"]
    once = kept(run)
    assert once == (
        b'{"example_id": 3}\n{"exam\n{"example_id": 0}\n{"example_id": 1}\n',
        b'{"row": 2}\n',
    )
    assert take_in(run) == reports and kept(run) == once


def test_what_was_taken_in_stays_as_long_as_unsaved_runs_and_what_was_not_stays(
    run: RunDir,
) -> None:
    taken, other = rescue("one", ROWS, RECORDS), rescue("two", ROWS, RECORDS)
    take_in(run)
    now = time.time()
    prune(now + KEPT_S - 60)
    assert taken.exists()
    prune(now + KEPT_S + 60)
    assert not taken.exists() and other.exists()


@pytest.mark.parametrize("session", ["", "../../elsewhere", "unknown"])
def test_a_session_that_has_left_nothing_has_nothing(session: str, tmp_path: Path) -> None:
    rescue("one", ROWS, RECORDS)
    assert not find_rescued(run_of(session, tmp_path / "run"))


def test_what_others_may_have_written_is_not_read(run: RunDir) -> None:
    folder = rescue("one", ROWS, RECORDS)
    folder.chmod(0o777)
    assert not find_rescued(run)
    remove_taken_in(time.time() + 60)
    assert folder.exists()


def test_where_a_session_continued_is_known_for_as_long_as_that_run_is_there(
    run: RunDir, tmp_path: Path
) -> None:
    other = run_of("two", tmp_path / "other")
    note_continued("one", other.path)
    assert continued_in(run) == other.path and continued_in(other) is None
    assert kept_elsewhere(run) == [f"The run was saved as {other.path} and continued there"]
    assert not find_rescued(run)
    (tmp_path / "other").rename(tmp_path / "moved")
    assert continued_in(run) is None and not kept_elsewhere(run)


ON_A_FULL_MACHINE = """
import pathlib, resource, sys
from tui_eval.runs.layout import RunDir
from tui_eval.runs.rescue import find_rescued

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print(len(find_rescued(RunDir(pathlib.Path(sys.argv[1])))), flush=True)
"""


@pytest.mark.process
def test_it_is_found_where_no_disk_takes_anything(run: RunDir) -> None:
    rescue("one", ROWS, RECORDS)
    command = (sys.executable, "-c", ON_A_FULL_MACHINE, str(run.path))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr

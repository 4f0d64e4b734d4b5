"""Runs that are copied, also while somebody writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import line, write_run

from tui_eval.errors import RefusedError
from tui_eval.runs.saved_run import finished_on_disk
from tui_eval.runs.unsaved import copy_run


def test_a_copy_has_every_whole_row_and_what_is_beside_them(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [line(0, 0), line(1, 0), line(1, 1)[:20]])
    run.notes.write_text("{}\n")
    run.lock.touch()
    copy = copy_run(run, tmp_path / "a" / "b")
    assert copy.results.read_bytes() == line(0, 0) + line(1, 0)
    assert {path.name for path in copy.path.iterdir()} == {
        *("results.jsonl", "run.toml", "metadata.json", "notes.jsonl"),
    }
    assert [event.row for event in finished_on_disk(copy)] == [0, 2]
    assert run.results.read_bytes().endswith(line(1, 1)[:20]), "the run is as it was"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [line(0, 0)])
    (tmp_path / "there").mkdir()
    with pytest.raises(RefusedError, match="there already"):
        copy_run(run, tmp_path / "there")
    (tmp_path / "file").touch()
    with pytest.raises(RefusedError, match="could not be copied"):
        copy_run(run, tmp_path / "file" / "inside")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "there", "file"}


COPY = """
import sys
from pathlib import Path
from tui_eval.runs.unsaved import copy_run
from tui_eval.runs.layout import RunDir
copy_run(RunDir(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.mark.process
def test_a_copy_that_was_killed_leaves_its_name_free(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [line(0, 0)])
    rows, target = run.results.rename(tmp_path / "rows"), tmp_path / "copy"
    os.mkfifo(run.results)
    copying = subprocess.Popen([sys.executable, "-c", COPY, str(run.path), str(target)])
    with open(run.results, "wb", 0) as slow:  # which waits until it is being read
        slow.write(b" " * 300_000)  # and this until much of it was read
        with pytest.raises(RefusedError, match=f"process {copying.pid} is copying a run"):
            copy_run(run, target)
        copying.kill()
        copying.wait()
    rows.replace(run.results)
    assert (tmp_path / ".copy.partial" / "results.jsonl").exists()
    (tmp_path / ".copy.partial" / "notes.jsonl").write_text("of the one that was killed")
    copy = copy_run(run, target)
    assert copy.results.read_bytes() == line(0, 0)
    assert {path.name for path in copy.path.iterdir()} == {path.name for path in run.path.iterdir()}
    assert {path.name for path in tmp_path.iterdir()} == {"run", "copy"}

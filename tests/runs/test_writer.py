"""Lines on disk: whole or not at all, also where the disk is full or the process is killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from made_runs import row, rows_of, write_indexed, write_run

from tui_eval.events import RolloutFinished, RunFinished
from tui_eval.runs import writer as writing
from tui_eval.runs.index import IndexReader
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.repair import repair
from tui_eval.runs.row import encode_row
from tui_eval.runs.saved_run import saved_events
from tui_eval.runs.scan import scan
from tui_eval.runs.writer import RunWriter, write_atomically, write_metadata

WRITING = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2].split(":")
from made_runs import row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.row import encode_row
from tui_eval.runs.row_events import event_of
from tui_eval.runs.scan import scan
from tui_eval.runs.writer import RunWriter

run = RunDir(Path(sys.argv[1]))
writer = RunWriter(run, Redactor())
for place in range(100_000):
    one = row(place, 0, text="x" * (place * 37 % 5000))
    offset, line = writer.append(encode_row(one))
    print(place, flush=True)
    writer.remember(event_of(next(scan(run.results, offset)), place, 0))
    if place % 3 == 0:
        writer.flush_index()
"""


def finished_of(run: RunDir) -> list[RolloutFinished]:
    return [event for event in saved_events(run) if isinstance(event, RolloutFinished)]


def test_a_line_is_where_the_writer_says(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    writer = RunWriter(run, Redactor())
    places = [writer.append(encode_row(row(0, n, text="é" * n))) for n in range(3)]
    writer.close()
    with run.results.open("rb") as file:
        for number, (offset, line) in enumerate(places):
            file.seek(offset)
            text = file.read(len(line))
            assert text == line
            assert text.endswith(b"\n")
            assert json.loads(text)["tui_eval"]["rollout"] == number


def test_a_writer_continues_at_the_end_of_the_file(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    write_indexed(run, [row(0, 0), row(0, 1)])
    write_indexed(run, [row(1, 0)])
    assert len(rows_of(run)) == 3
    assert [event.row for event in IndexReader(run.index).read()] == [0, 1, 2]
    assert [event.row for event in finished_of(run)] == [0, 1, 2]


def test_secrets_are_redacted_in_lines_and_metadata(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    redact = Redactor(["sk-secret"])
    writer = RunWriter(run, redact)
    writer.append(encode_row(row(0, 0, text="the key is sk-secret")))
    writer.close()
    write_metadata(run, {"base_url": "http://x/?key=sk-secret"}, redact)
    assert rows_of(run)[0]["text"] == "the key is *********"
    assert b"sk-secret" not in run.metadata.read_bytes()


@pytest.mark.process
def test_a_full_disk_leaves_whole_lines_only(tmp_path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.writer import RunWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
writer = RunWriter(RunDir(Path(sys.argv[1])), Redactor())
line = b'{"example_id": 0, "x": "' + b"y" * 300 + b'"}\\n'
written = 0
try:
    while True:
        writer.append(line)
        written += 1
except OSError as error:
    print(written, error.errno)
writer.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "3"
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)


@pytest.mark.slow
@pytest.mark.process
def test_a_killed_writer_loses_no_line_that_it_reported(tmp_path: Path) -> None:
    seed = random.Random(7)
    for number in range(4):
        run = write_run(tmp_path / str(number), examples=100_000, per_example=1)
        process = subprocess.Popen(
            [sys.executable, "-c", WRITING, str(run.path), ":".join([os.path.dirname(__file__)])],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        reported = int(process.stdout.readline())
        deadline = time.monotonic() + seed.random() * 0.15
        while time.monotonic() < deadline:
            reported = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        whole = [int(text) for text in rest if text]
        reported = max([reported, *whole[:-1]])
        assert [event.row for event in finished_of(run)][: reported + 1] == list(
            range(reported + 1)
        )
        found = repair(run, rollouts_per_example=1, examples=100_000, keep_errors=True)
        assert len(found.kept) >= reported + 1
        for event in found.kept[:: max(len(found.kept) // 20, 1)]:
            line = next(scan(run.results, event.offset))
            assert line.row is not None and line.row["example_id"] == event.row


def test_a_run_that_did_not_end_is_reported_as_interrupted(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    write_indexed(run, [row(0, 0)])
    end = list(saved_events(run))[-1]
    assert isinstance(end, RunFinished)
    assert (end.status, end.exit_code) == ("interrupted", 130)


def test_an_atomic_write_replaces_the_whole_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    write_atomically(path, b"one and more")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "folder", b"three")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "metadata.json"]


def test_an_atomic_write_flushes_the_whole_file_before_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: flushed.append(os.fstat(fd).st_size))
    write_atomically(tmp_path / "metadata.json", b"four")
    assert flushed == [4]


def test_who_writes_after_the_end_does_not_write_to_another_file(tmp_path: Path) -> None:
    writer = RunWriter(RunDir(tmp_path), Redactor())
    writer.append(b"{}\n")
    writer.close()
    others = [os.open(tmp_path / f"other-{number}", os.O_RDWR | os.O_CREAT) for number in range(3)]
    for other in others:
        os.write(other, b"{}\n")  # as long as the results are
    with pytest.raises(OSError):
        writer.append(b"late\n")
    for other in others:
        os.close(other)
    assert {(tmp_path / f"other-{number}").read_bytes() for number in range(3)} == {b"{}\n"}
    assert (tmp_path / "results.jsonl").read_bytes() == b"{}\n"


def test_a_disk_that_does_not_keep_what_it_took_is_reported_at_the_next_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "results.jsonl").symlink_to("/dev/null")  # writes go well, fdatasync does not
    writer = RunWriter(RunDir(tmp_path), Redactor())
    failed = threading.Event()
    writer.sync_failed = lambda _error: failed.set()
    writer.append(b"{}\n")
    assert failed.wait(60)
    with pytest.raises(OSError, match="Invalid argument"):
        writer.append(b"{}\n")


def test_secrets_do_not_reach_the_index(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    write_indexed(run, [row(0, 0)])
    (event,) = IndexReader(run.index).read()
    run.index.unlink()
    event.example_id = "sk-secret"
    writer = RunWriter(run, Redactor(["sk-secret"]))
    writer.remember(event)
    writer.close()
    assert [one.example_id for one in IndexReader(run.index).read()] == ["*********"]


def test_the_index_has_each_entry_once(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    write_indexed(run, [row(0, 0), row(0, 1)])
    entries = IndexReader(run.index).read()
    run.index.unlink()
    writer = RunWriter(run, Redactor())
    for entry in entries:
        writer.remember(entry)
        writer.flush_index()
    writer.close()
    assert IndexReader(run.index).read() == entries


def test_a_disk_that_refuses_the_index_ends_no_run_and_a_new_index_is_written(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path)
    write_indexed(run, [row(0, 0)])
    (event,) = IndexReader(run.index).read()
    run.index.unlink()
    run.index.symlink_to("/dev/full")
    writer = RunWriter(run, Redactor())
    writer.remember(event)
    writer.flush_index()
    run.index.unlink()
    writer.reopen()
    writer.remember(event)
    writer.close()
    assert IndexReader(run.index).read() == [event]


def test_a_writer_continues_with_the_results_that_replaced_its_own(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    writer = RunWriter(run, Redactor())
    for number in range(2):
        writer.append(encode_row(row(0, number)))
    kept = run.results.read_bytes().splitlines(keepends=True)[1]
    write_atomically(run.results, kept)
    writer.reopen()
    offset, line = writer.append(encode_row(row(1, 0)))
    writer.close()
    assert offset == len(kept)
    assert run.results.read_bytes() == kept + line


@pytest.mark.parametrize("name", ["results.jsonl", "results.index"])
def test_a_flush_syncs_the_results_and_the_index(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/null")  # fdatasync refuses it
    writer = RunWriter(RunDir(tmp_path), Redactor())
    with pytest.raises(OSError, match="Invalid argument"):
        writer.sync()
    with contextlib.suppress(OSError):
        writer.close()


def test_lines_are_taken_again_once_the_disk_keeps_them(tmp_path: Path) -> None:
    refuses, failed = [OSError("not kept")], threading.Event()

    def also_sync() -> None:
        if refuses:
            raise refuses.pop()

    writer = RunWriter(RunDir(tmp_path), Redactor())
    writer.also_sync = also_sync
    writer.sync_failed = lambda _error: failed.set()
    writer.append(b"1\n")
    assert failed.wait(60)
    with pytest.raises(OSError, match="not kept"):
        writer.append(b"2\n")
    writer.sync()
    writer.append(b"3\n")
    writer.close()
    assert (tmp_path / "results.jsonl").read_bytes() == b"1\n3\n"


def test_closing_does_not_wait_for_a_disk_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "PATIENCE_S", 0.05)
    waits, answers = threading.Event(), threading.Event()

    def also_sync() -> None:
        waits.set()
        answers.wait(60)

    writer = RunWriter(RunDir(tmp_path), Redactor())
    writer.also_sync = also_sync
    writer.append(b"{}\n")
    assert waits.wait(60)
    with pytest.raises(OSError, match="does not answer"):
        writer.close()
    answers.set()
    writer.close()


def test_what_is_flushed_with_the_results_is_flushed_soon(tmp_path: Path) -> None:
    flushed = threading.Event()
    writer = RunWriter(RunDir(tmp_path), Redactor())
    writer.also_sync = flushed.set
    writer.sync_soon()
    assert flushed.wait(60)
    writer.close()


def test_closing_syncs_the_results(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").symlink_to("/dev/null")  # fdatasync refuses it
    writer = RunWriter(RunDir(tmp_path), Redactor())
    with pytest.raises(OSError, match="Invalid argument"):
        writer.close()

"""One writer a run, and everybody can look who it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import Holder, LockHeldError, RunLock, holder

HOLDING = """
import sys
from pathlib import Path
from tui_eval.runs.crash_recovery import close_if_crashed
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock
lock = RunLock(Path(sys.argv[1]), "/run/one.sock")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def other_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.mark.process
def test_a_second_writer_is_refused_and_learns_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other_process(path) as process:
        assert holder(path) == Holder(process.pid, "/run/one.sock")
        with pytest.raises(LockHeldError, match=f"process {process.pid} is writing"):
            RunLock(path, "")


@pytest.mark.process
def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other_process(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.exists()
        assert holder(path) is None
        lock = RunLock(path, "mine")
        assert holder(path) == Holder(os.getpid(), "mine")
        lock.release()


def test_a_released_lock_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    RunLock(path, "a").release()
    assert not path.exists()
    assert holder(path) is None
    RunLock(path, "b").release()


def test_a_lock_in_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        RunLock(tmp_path / "nothing" / "lock", "")


def test_a_lock_whose_text_is_torn_is_still_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock(path, "a")
    path.write_bytes(b'{"pid": 1')
    assert holder(path) == Holder(0, "")
    with pytest.raises(LockHeldError, match="another process is writing"):
        RunLock(path, "b")
    lock.release()


def test_a_look_at_the_lock_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            holder(path)

    looking = [threading.Thread(target=look) for _ in range(2)]
    for thread in looking:
        thread.start()
    try:
        for _ in range(50):
            RunLock(path, "").release()
    finally:
        over.set()
        for thread in looking:
            thread.join()


def test_a_file_that_was_replaced_meanwhile_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    path.touch()
    real_open = os.open
    opened: list[int] = []

    def open_late(*args: object) -> int:
        fd = real_open(*args)
        if not opened:  # whoever had the lock removes its file between our open and our flock
            path.unlink()
        opened.append(fd)
        return fd

    monkeypatch.setattr(os, "open", open_late)
    lock = RunLock(path, "mine")
    monkeypatch.undo()
    assert len(opened) == 2
    assert holder(path) == Holder(os.getpid(), "mine")
    lock.release()


@pytest.mark.process
def test_a_lock_that_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = """
import resource, signal, sys
from pathlib import Path
from tui_eval.runs.lock import RunLock
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, limit = Path(sys.argv[1]), resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))  # as a full disk
try:
    RunLock(path, "")
except OSError as error:
    print(error.strerror, path.exists())
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
RunLock(path, "")
print("taken")
"""
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "File too large False\ntaken\n"


@pytest.mark.process
def test_who_may_not_read_a_lock_does_not_take_it_for_free(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may become another user")
    script = """
import os, sys
from pathlib import Path
from tui_eval.runs.lock import holder
os.setgid(4321)
os.setuid(4321)
print(holder(Path("lock")))
held = holder(Path("lock"))
print(held and held.fault(Path(".")))
"""
    lock = RunLock(tmp_path / "lock", "")
    tmp_path.chmod(0o777)
    try:
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    finally:
        lock.release()
    first, second = done.stdout.splitlines()
    assert first == "another process"
    assert "has ended without a word. Once it has ended: rm lock" in second


def test_a_lock_that_somebody_else_has_taken_since_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = RunLock(path, "")
    path.unlink()  # by hand
    second = RunLock(path, "mine")
    first.release()
    assert holder(path) == Holder(os.getpid(), "mine")
    second.release()
    assert not path.exists()


@pytest.mark.process
def test_a_run_that_is_being_closed_has_no_other_writer(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    run.lock.touch()
    os.mkfifo(run.metadata)  # who reads it waits
    script = """
import sys
from pathlib import Path
from tui_eval.runs.crash_recovery import close_if_crashed
from tui_eval.runs.layout import RunDir
close_if_crashed(RunDir(Path(sys.argv[1])))
"""
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    try:
        with open(run.metadata, "wb"), pytest.raises(LockHeldError):
            run.metadata.unlink()
            RunLock(run.lock, "")
    finally:
        assert process.wait(60) == 0
    assert not run.lock.exists()
    RunLock(run.lock, "").release()

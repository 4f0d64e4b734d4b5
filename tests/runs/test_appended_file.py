"""A file that is appended to, on a disk that refuses: what the system says is injected."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tui_eval.runs.appended_file import AppendedFile, FileChangedError

PROGRAM = """
import sys, time
from pathlib import Path
from tui_eval.runs import appended_file
from tui_eval.runs.appended_file import AppendedFile
appended_file.PATIENCE_S = 0.4
file = AppendedFile(Path(sys.argv[1]))
for step in sys.argv[2:]:
    while True:
        try:
            file.sync() if step == "sync" else file.append(step.strip("!").encode() + b"\\n")
            break
        except OSError as error:
            if not step.endswith("!"):
                print(step, error.strerror)
                break
            time.sleep(0.05)
"""


def injected(path: Path, fault: str, *steps: str) -> tuple[str, str]:
    """Output of a process whose system calls have a fault, and the calls that it made."""
    if shutil.which("strace") is None:
        pytest.skip("system calls are injected with strace")
    calls = path.with_suffix(".calls")
    path.touch()
    done = subprocess.run(
        [
            *("strace", "-f", "-qq", "-o", str(calls), "-P", str(path)),
            *("-e", f"inject={fault}", sys.executable, "-c", PROGRAM, str(path), *steps),
        ],
        capture_output=True,
        text=True,
        timeout=20,
    )
    if done.returncode != 0 and "ptrace" in done.stderr:
        pytest.skip("nobody may be traced here")
    assert done.returncode == 0, done.stderr
    return done.stdout, calls.read_text()


@pytest.mark.process
def test_what_a_disk_did_not_keep_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    steps = ("one", "sync", "two", "sync", "three", "sync", "four", "sync")
    said, calls = injected(path, "fdatasync:error=EIO:when=2", *steps)
    assert said == "sync Input/output error\n"
    again = [line for line in calls.splitlines() if "pwrite64(" in line]
    assert len(again) == 1 and '"two\\nthree\\n", 10, 4)' in again[0]
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"


@pytest.mark.process
@pytest.mark.parametrize("error", ["EDQUOT", "EROFS", "EIO", "ENOSPC"])
def test_of_a_line_that_is_refused_nothing_stays(tmp_path: Path, error: str) -> None:
    path = tmp_path / "results.jsonl"
    said, _ = injected(path, f"write:error={error}:when=2", "one", "two", "three")
    assert said.startswith("two ")
    assert path.read_bytes() == b"one\nthree\n"


@pytest.mark.process
def test_a_call_that_takes_long_is_a_refusal_and_what_it_wrote_at_last_is_written_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "results.jsonl"
    said, calls = injected(path, "write:delay_exit=800000:when=2", "one", "two", "two", "two!")
    assert said == "two the disk does not answer\n" * 2
    assert calls.count(" write(") == 2
    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.process
def test_what_a_call_that_took_long_wrote_stays_only_where_it_is_still_to_be_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "results.jsonl"
    injected(path, "write:delay_exit=800000:when=2", "one", "two", "three!")
    assert path.read_bytes() == b"one\nthree\n"


@pytest.mark.process
def test_a_disk_of_which_every_call_takes_long_takes_all_of_it_once(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    steps = ("one!", "two", "two\nthree!", "four!", "five!")
    said, calls = injected(path, "write:delay_exit=800000", *steps)
    assert said == "two the disk does not answer\n"
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\nfive\n"
    assert calls.count(" write(") == 5 and "ftruncate" not in calls


@pytest.mark.process
def test_half_a_line_that_the_disk_took_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    program = """
import os, resource, sys
from pathlib import Path
from tui_eval.runs import appended_file
from tui_eval.runs.appended_file import AppendedFile
appended_file.PATIENCE_S = 0.4
file = AppendedFile(Path(sys.argv[1]))
file.append(b"one\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (6, -1))
try:
    file.append(b"two\\n")
except OSError as error:
    print(error.strerror, file.path.read_bytes())
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
file.append(b"three\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "File too large b'one\\n'\n"
    assert path.read_bytes() == b"one\nthree\n"


def test_a_file_that_is_elsewhere_is_refused_and_one_that_was_changed_for_good(
    tmp_path: Path,
) -> None:
    file = AppendedFile(tmp_path / "file")
    file.append(b"one\n")
    away = file.path.rename(tmp_path / "away")
    with pytest.raises(FileNotFoundError):
        file.append(b"two\n")
    file.path.touch()
    with pytest.raises(FileNotFoundError, match="another file is there"):
        file.append(b"two\n")
    away.replace(file.path)
    file.append(b"two\n")
    with file.path.open("ab") as other:
        other.write(b"somebody's\n")
    with pytest.raises(FileChangedError):
        file.append(b"three\n")
    file.close()
    assert away.exists() is False and (tmp_path / "file").read_bytes().startswith(b"one\ntwo\n")

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tui_eval.fold.log_records import ERROR, INFO, OUTPUT, LogParser, LogRecord

BEGIN = """
import logging, os, sys, traceback
from pathlib import Path
from tui_eval.worker.logging.run_log import early_output, print_to_log, set_up_logging
from tui_eval.runs.redaction import Redactor
with early_output():
    sys.stdout.reconfigure(encoding="utf-8")  # as libraries do while they are imported
    print("loading", 7)
    early = sys.stdout
print_to_log(Path("engine.log"), Redactor(["sk-secret"]))
set_up_logging(False)
log = logging.getLogger("tui_eval.sums")
"""


def logged(folder: Path, code: str) -> list[LogRecord]:
    """The records of the log of a process that runs this code; its own output is what is early."""
    with open(folder / "early.log", "w+b") as early:
        subprocess.run(
            [sys.executable, "-c", BEGIN + code],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, "lib/site-packages"])},
            stdout=early,
            stderr=early,
            check=True,
        )
    return LogParser().parse((folder / "engine.log").read_bytes(), 0)[1]


def test_what_is_printed_has_its_time_and_records_have_it_once(tmp_path: Path) -> None:
    code = """
print("a", "b")
print("key sk-secret", "\\n\\nmore", file=sys.stderr)
sys.stdout.buffer.write(b"bytes\\n")
log.info("rated")
os.write(1, b"from C\\n")
"""
    records = logged(tmp_path, code)
    assert [(one.level, one.lines, bool(one.time)) for one in records] == [
        (OUTPUT, ["loading 7"], True),
        (OUTPUT, ["a b"], True),
        (OUTPUT, ["key *********"], True),
        (OUTPUT, ["more"], True),
        (OUTPUT, ["bytes"], True),
        (INFO, ["rated"], True),
        (OUTPUT, ["from C"], True),
    ]


def test_what_other_programs_and_c_code_print_has_its_time_to_the_last_word(tmp_path: Path) -> None:
    code = """
import subprocess
subprocess.run(["sh", "-c", "echo from a child; echo sk-secret of it >&2"])
os.write(2, b"2026-01-02 03:04:05,006 INFO of.child: with a time of its own\\n")
os.write(1, b"not ended")
os.write(2, b"last words\\n")
os.abort()
"""
    with open(tmp_path / "early.log", "w+b") as early:
        subprocess.run(
            [sys.executable, "-c", BEGIN + code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=early,
            stderr=early,
        )
    log = tmp_path / "engine.log"
    deadline = time.monotonic() + 30
    while b"last words" not in log.read_bytes() and time.monotonic() < deadline:
        time.sleep(0.01)
    records = LogParser().parse(log.read_bytes(), 0)[1][1:]
    assert sorted((one.lines[0], bool(one.time)) for one in records) == [
        ("********* of it", True),
        ("from a child", True),
        ("not endedlast words", True),
        ("with a time of its own", True),
    ]


def test_a_record_begins_a_line_also_where_one_was_not_ended(tmp_path: Path) -> None:
    code = """
print("50 %", end="")
print(" done", end="")
log.info("rated")
print(" 60 %")
"""
    assert [(one.level, one.lines) for one in logged(tmp_path, code)[1:]] == [
        (OUTPUT, ["50 % done"]),
        (INFO, ["rated"]),
        (OUTPUT, [" 60 %"]),
    ]


def test_tracebacks_are_whole_whether_logged_or_printed(tmp_path: Path) -> None:
    code = """
try:
    1 / 0
except ZeroDivisionError:
    log.exception("it broke")
    traceback.print_exc()
print("on")
"""
    records = logged(tmp_path, code)[1:]
    assert [(one.level, one.lines[0], one.lines[-1], bool(one.time)) for one in records] == [
        (ERROR, "it broke", "ZeroDivisionError: division by zero", True),
        (ERROR, "Traceback (most recent call last):", "ZeroDivisionError: division by zero", True),
        (OUTPUT, "on", "on", True),
    ]


def test_who_keeps_the_output_of_before_the_run_prints_no_secret_either(tmp_path: Path) -> None:
    records = logged(tmp_path, 'print("key sk-secret", file=early)')
    assert [one.lines for one in records] == [["loading 7"], ["key *********"]]


SPEAKER = """
import logging
log = logging.getLogger({!r})
def speak():
    log.debug("{} in detail")
    log.info("{}")
    log.warning("{} warns")
"""


@pytest.mark.parametrize("verbose", [False, True])
def test_loggers_of_an_author_are_logged_those_of_libraries_only_where_they_warn(
    tmp_path: Path, verbose: bool
) -> None:
    packages = tmp_path / "lib" / "site-packages"
    packages.mkdir(parents=True)
    modules = {"sums": tmp_path, "more_sums": packages, "library": packages, "httpx": packages}
    for name, folder in modules.items():
        (folder / f"{name}_.py").write_text(SPEAKER.format(name, name, name, name))
    (packages / "asked_.py").write_text(SPEAKER.format("asked", *3 * ["asked"]))
    code = f"""
set_up_logging({verbose}, ["owner/more-sums-"])
logging.getLogger("asked").setLevel(logging.INFO)
import sums_, more_sums_, library_, httpx_, asked_
for one in (sums_, more_sums_, library_, httpx_, asked_):
    one.speak()
"""
    messages = [one.lines[0] for one in logged(tmp_path, code)[1:]]
    detail = {f"{name} in detail" for name in ("sums", "more_sums")} if verbose else set()
    warned = {f"{name} warns" for name in (*modules, "asked")}
    assert set(messages) == {"sums", "more_sums", "asked"} | detail | warned


def test_a_log_that_cannot_be_written_breaks_nobody_who_prints_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    code = """
import fcntl, resource, subprocess, termios, time
def is_read():
    return fcntl.ioctl(1, termios.FIONREAD, bytes(4)) == bytes(4)
children = Path("/proc/self/task", str(os.getpid()), "children").read_text().split()
def limit(size):
    for pid in (os.getpid(), *map(int, children)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
limit(10)
for number in range(3):
    print("lost", number)
    subprocess.run(["echo", f"lost from a child {number}"], check=True)
    log.info("lost, too")
while not is_read():
    time.sleep(0.01)
limit(resource.RLIM_INFINITY)
print("with room again")
subprocess.run(["echo", "from a child again"], check=True)
"""
    records = logged(tmp_path, code)
    lines = [line for one in records for line in one.lines]
    assert not [line for line in lines if "lost" in line and "child" not in line]
    assert {"with room again", "from a child again"} < set(lines)
    assert [line for line in lines if "bytes could not be written here" in line]

"""Where files cannot be locked a run has one writer all the same, and everybody sees which."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from program import Program, wait_until
from taken_away import FLOCK_OF_ANOTHER_NODE, FLOCK_ON_WRITABLE_ONLY, HELD, NO_FLOCK
from terminal import Terminal

from tui_eval.runs.lock import Holder, LockHeldError, RunLock, holder

RUN = ("held", "-m", "demo", "-n", "2", "-r", "1", "-s")


def locked(program: Program) -> tuple[Path, dict[str, object]]:
    """The lock of the run that is held, once one rollout is on disk."""
    wait_until(lambda: program.runs() and program.only_run().rows, "one rollout is over")
    lock = program.only_run().path / "lock"
    return lock, json.loads(lock.read_text())


@pytest.mark.slow
def test_a_run_is_resumed_with_a_lock_file_and_another_one_is_refused(program: Program) -> None:
    program.environment("held", HELD)
    program.happens_at_start(NO_FLOCK)
    first = program.start(*RUN)
    lock, written = locked(program)
    pid = written["pid"]
    assert isinstance(pid, int)
    process = written["process"]
    assert isinstance(process, dict)
    assert process["host"] and process["boot"] and process["started"]
    assert lock.stat().st_mode & 0o777 == 0o600
    assert holder(lock) == Holder(pid, str(written["socket"]))

    second = program.run("held", "--resume", str(lock.parent))
    assert second.code == 2
    assert f"process {pid} is writing this run. Join it: tui-eval open" in second.err

    os.kill(pid, signal.SIGKILL)
    killed = program.finish(first)
    assert killed.code == 1
    warned = [line for line in killed.err.splitlines() if "cannot be locked" in line]
    assert len(warned) == 1 and "Function not implemented" in warned[0]
    (program.folder / "go").touch()
    again = program.run("held", "--resume", str(lock.parent))
    assert again.code == 0, again
    assert program.only_run().places() == [(0, 0), (1, 0)]
    assert not lock.exists()


@pytest.mark.slow
def test_the_lock_of_a_killed_engine_is_taken_over_where_nobody_removed_it(
    program: Program, tmp_path: Path
) -> None:
    program.environment("held", HELD)
    program.happens_at_start(NO_FLOCK)
    first = program.start(*RUN)
    lock, written = locked(program)
    text = lock.read_text()
    os.kill(int(str(written["pid"])), signal.SIGKILL)
    program.finish(first)
    lock.write_text(text)
    assert holder(lock) is None
    (program.folder / "go").touch()
    again = program.run("held", "--resume", str(lock.parent))
    assert again.code == 0, again
    assert [path.name for path in lock.parent.glob("lock*")] == []


@pytest.mark.slow
def test_the_lock_of_another_machine_says_what_to_remove(program: Program) -> None:
    program.environment("held", HELD)
    (program.folder / "go").touch()
    assert program.run(*RUN).code == 0
    run = program.only_run()
    lock = run.path / "lock"
    record = {
        **{"pid": 4242, "socket": "/run/x.sock", "flocked": False},
        "process": {"pid": 4242, "host": "node-17", "boot": "b", "space": "", "started": "9"},
    }
    lock.write_text(json.dumps(record))
    for source in ("", NO_FLOCK):
        program.happens_at_start(source)
        refused = program.run("held", "--resume", str(run.path))
        assert refused.code == 2, refused
        said = "process 4242 on node-17 is writing this run, or has ended without a word."
        assert f"{said} Once it has ended wait 30 s, or: rm {lock}" in refused.err
    lock.unlink()
    assert program.run("held", "--resume", str(run.path)).code == 0


@pytest.mark.slow
def test_a_run_is_held_where_only_writable_files_can_be_locked(program: Program) -> None:
    program.environment("held", HELD)
    program.happens_at_start(FLOCK_ON_WRITABLE_ONLY)
    first = program.start(*RUN)
    lock, written = locked(program)
    second = program.run("held", "--resume", str(lock.parent))
    assert (second.code, f"process {written['pid']} is writing" in second.err) == (2, True)
    (program.folder / "go").touch()
    done = program.finish(first)
    assert (done.code, "cannot be locked" in done.err) == (0, False)


@pytest.mark.parametrize(
    ("changed", "is_held"),
    [
        ({}, True),
        ({"started": "1"}, False),
        ({"boot": "an earlier one"}, False),
        ({"host": "elsewhere"}, True),
        ({"space": "of a container"}, True),
        ({"pid": 1 << 70}, False),
    ],
)
def test_a_file_holds_as_long_as_its_process_is_there(
    tmp_path: Path, changed: dict[str, object], is_held: bool
) -> None:
    path = tmp_path / "lock"
    lock = RunLock(path, "mine")
    written = json.loads(path.read_text())
    lock.release()
    path.write_text(
        json.dumps({**written, "flocked": False, "process": {**written["process"], **changed}})
    )
    assert (holder(path) is not None) == is_held
    if is_held:
        with pytest.raises(LockHeldError):
            RunLock(path, "")
    else:
        RunLock(path, "").release()


@pytest.mark.slow
def test_a_run_on_another_machine_is_followed_on_disk(program: Program) -> None:
    program.environment("held", HELD)
    program.happens_at_start(NO_FLOCK)
    first = program.start(*RUN)
    lock, written = locked(program)
    process = written["process"]
    assert isinstance(process, dict)
    lock.write_text(json.dumps({**written, "process": {**process, "host": "node-17"}}))
    terminal = Terminal(program.folder, program.env, "open", str(lock.parent))
    try:
        terminal.wait_for("1/2")
        (program.folder / "go").touch()
        terminal.wait_for("2/2")
        assert program.finish(first).code == 0
        terminal.wait_for("✓ finished")
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()


@pytest.mark.slow
def test_where_processes_are_looked_up_by_ps_everybody_sees_the_same(program: Program) -> None:
    like_a_mac = Path(__file__).parents[1] / "like_a_mac.py"
    program.happens_at_start(like_a_mac.read_text() + NO_FLOCK)
    program.environment("held", HELD)
    program.env["TZ"] = "UTC"
    first = program.start(*RUN)
    lock, written = locked(program)
    program.env |= {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}
    second = program.run("held", "--resume", str(lock.parent))
    assert (second.code, f"process {written['pid']} is writing" in second.err) == (2, True), second
    (program.folder / "go").touch()
    assert program.finish(first).code == 0


TAKING = (
    NO_FLOCK
    + """
import sys
from pathlib import Path
if sys.argv[1] == "no links":
    def link(*names, **options):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    os.link = link
from tui_eval.runs.lock import LockHeldError, RunLock
kept = []
for line in sys.stdin:
    folder = Path(line.strip())
    while not (folder / "go").exists():
        pass
    try:
        kept.append(RunLock(folder / "lock", ""))
        print("taken", flush=True)
    except LockHeldError:
        print("held", flush=True)
"""
)
"""Takes the lock of each folder that it is given, once that has a file `go`."""


@pytest.mark.slow
@pytest.mark.parametrize("links", ["links", "no links"])
def test_of_many_that_take_over_a_lock_at_once_one_has_it(tmp_path: Path, links: str) -> None:
    path = tmp_path / "lock"
    RunLock(path, "").release()
    lock = RunLock(path, "")
    written = json.loads(path.read_text())
    lock.release()
    gone = {**written, "flocked": False, "process": {**written["process"], "boot": "earlier"}}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", TAKING, links]
    takers = [subprocess.Popen(command, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    try:
        for number in range(60):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "lock").write_text(json.dumps(gone))
            for taker in takers:
                print(folder, file=taker.stdin, flush=True)
            (folder / "go").touch()
            answers = [taker.stdout.readline() for taker in takers]
            assert sorted(answers) == ["held\n"] * 3 + ["taken\n"], number
            assert [one.name for one in folder.glob("lock*")] == ["lock"]
    finally:
        for taker in takers:
            taker.communicate()


@pytest.mark.slow
def test_a_run_is_written_where_modes_cannot_be_changed(program: Program) -> None:
    refusing = """
import errno, os
def fchmod(fd, mode):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
os.fchmod = fchmod
"""
    program.happens_at_start(refusing)
    done = program.run("word-guess", "-m", "demo", "-n", "1", "-r", "1", "-s")
    assert done.code == 0, done


@pytest.mark.slow
def test_where_a_lock_is_local_to_a_machine_another_one_does_not_write_the_run(
    program: Program,
) -> None:
    program.environment("held", HELD)
    first = program.start(*RUN)
    lock, _ = locked(program)
    run = program.only_run()
    os.utime(lock, (1, 1))
    wait_until(lambda: lock.stat().st_mtime > 1, "it is touched again")
    program.happens_at_start(FLOCK_OF_ANOTHER_NODE)
    again = "run", "--resume", str(run.path)
    refused = program.run(*again)
    assert refused.code == 2, refused
    text = lock.read_text()
    engine = json.loads(text)["pid"]
    assert f"process {engine} on {socket.gethostname()} is writing this run" in refused.err
    assert "Once it has ended wait 30 s, or: rm " in refused.err
    os.kill(engine, signal.SIGKILL)
    program.finish(first)
    lock.write_text(text)  # as nobody on its machine has closed the run
    os.utime(lock, (1, 1))
    (program.folder / "go").touch()
    done = program.run(*again)
    assert done.code == 0, done
    assert sorted(run.places()) == [(0, 0), (1, 0)]

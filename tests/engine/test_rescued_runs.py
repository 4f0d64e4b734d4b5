"""What a full disk refused at the end of a run is kept elsewhere, for the run and its copies."""

from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path
from typing import NamedTuple

import pytest
from program import Program, Run, chat_answer
from servers import FaultServer, Reply
from steered_runs import CHAT
from tiers import first_always

from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import read_run

FULL = """
import os, pathlib, resource
import tui_eval as vf

def load_environment():
    if not pathlib.Path("room").exists():
        size, whose = 20_000, os.getppid()  # the engine
        if pathlib.Path("looks").exists():  # a dry run loads it itself
            size, whose = 1_000, os.getpid()
        resource.prlimit(whose, resource.RLIMIT_FSIZE, (size, size))
    return vf.SingleTurnEnv(
        dataset=[{"question": "x" * LENGTH} for i in range(20)],
        rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
    )
"""


class Stopped(NamedTuple):
    """A run that was stopped while its disk refused."""

    run: Run
    rescued: str
    """What of it is elsewhere, as the run said at its end."""


def stop(program: Program, fault_server: FaultServer, question: int, answer: int) -> Stopped:
    """Runs until the disk refuses, and stops then.

    Args:
        question, answer: Their lengths: long questions fill results.jsonl before the journal.
    """
    program.environment("full", FULL.replace("LENGTH", str(question)))
    fault_server.script(CHAT, [Reply(body=chat_answer("y" * answer))])
    url = f"{fault_server.url}/v1"
    request = "full", "-m", "m", "-b", url, "-n", "20", "-r", "1", "-c", "4", "-s", "--json"
    process = program.start(*request)
    assert process.stderr is not None
    for line in process.stderr:
        if "Paused: " in line:
            break
    run = program.only_run()
    assert f"{run.path} cannot be written, file too large" in line
    process.send_signal(signal.SIGINT)
    done = program.finish(process)
    assert done.code == 1, done
    summary = json.loads(done.out)
    assert summary["status"] == "failed" and summary["exit_code"] == 1
    found = re.search(
        r"File too large; (\d rows? and \d answers?) of it are in (\S+), and a resume", done.err
    )
    assert found, done.err
    assert 0 < len(run.rows) < len(fault_server.requests) < 20
    return Stopped(run, found[1])


def resume(program: Program, path: Path) -> str:
    """Resumes a run to its end; what is printed."""
    done = program.run("run", "--resume", str(path))
    assert done.code == 0, done
    assert sorted(Run(path).places()) == [(i, 0) for i in range(20)]
    return done.out + done.err


def taken(out: str) -> list[str]:
    """What is said of answers that are not paid for again."""
    return re.findall(r".* in flight are taken from the journal.*", out)


@pytest.mark.slow
def test_a_resume_takes_it_in_once_there_is_room(
    program: Program, fault_server: FaultServer
) -> None:
    path = stop(program, fault_server, 3000, 1).run.path
    for look in ((), ("--dry-run",)):
        if look:
            (program.folder / "looks").touch()
        refused = program.run("run", "--resume", str(path), *look)
        assert refused.code == 2, refused
        assert "Traceback" not in refused.err and "File too large" in refused.err
        assert "Make room there" in refused.err and "with -o" not in refused.err
    (program.folder / "room").touch()
    assert "Taken in from" in resume(program, path)
    assert len(fault_server.requests) == 20
    assert "Taken in from" not in resume(program, path)


@pytest.mark.slow
@pytest.mark.parametrize("question, answer", first_always([(1, 3000), (3000, 1)]))
def test_a_run_that_is_moved_and_one_that_is_copied_find_it_both(
    program: Program, fault_server: FaultServer, question: int, answer: int
) -> None:
    stopped = stop(program, fault_server, question, answer)
    copy, moved = program.folder / "copy", program.folder / "moved"
    shutil.copytree(stopped.run.path, copy)
    stopped.run.path.rename(moved)
    (program.folder / "room").touch()
    answered = len(fault_server.requests)
    said = f"{stopped.rescued} that the disk had refused are in "
    where = str(copy)
    looks = ("run", "--resume", where, "--dry-run"), ("report", where), ("status", where)
    for look in looks:
        assert said in program.run(*look).err, look
    saved = taken(program.run(*looks[0]).err)
    assert read_run(RunDir(copy))[0].tokens == 15 * answered
    for path, requested in ((copy, 20), (moved, 40 - answered)):
        out = resume(program, path)
        assert "Taken in from" in out
        assert taken(out) == saved and bool(saved) == (answer > question)
        assert len(fault_server.requests) == requested
        assert read_run(RunDir(path))[0].tokens == 20 * 15
        assert not (path / "superseded.jsonl").exists(), "no row was there twice"
    for look in looks:
        assert "had refused" not in program.run(*look).err, look

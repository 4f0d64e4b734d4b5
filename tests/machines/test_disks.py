"""Real file systems that fill up and vanish under a run that is at work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from program import Program, chat_answer
from servers import FaultServer, Reply

pytestmark = pytest.mark.slow

CHAT = "/v1/chat/completions"
LONG = """
import tui_eval as vf

def load_environment():
    rows = [{"question": "x" * 3000}] * 40
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
"""
AS_ROOT = pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0 or shutil.which("nsenter") is None,
    reason="only root may mount file systems, in a mount namespace of the program's own",
)


@AS_ROOT
def test_a_run_waits_while_its_disk_is_full_and_while_it_is_gone(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("long", LONG)
    disk, outputs = program.folder / "disk", program.folder / "outputs"
    disk.mkdir()
    outputs.mkdir()
    steps = f'mount -t tmpfs -o size=128k tmpfs {disk} && mount --bind {disk} {outputs} && "$@"'
    program.before = ["unshare", "-m", "sh", "-c", f"{steps}; exit $?", "sh"]
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
    url = f"{fault_server.url}/v1"
    process = program.start(
        *("long", "-m", "m", "-b", url, "-n", "40", "-r", "1", "-c", "2", "-s", "--json")
    )
    assert process.stderr is not None
    printed: list[str] = []

    def until(words: str) -> None:
        for line in process.stderr or ():
            printed.append(line)
            if words in line:
                return
        if any("permission denied" in line for line in printed):
            pytest.skip("nothing may be mounted here")
        raise AssertionError("".join(printed))

    def inside(*command: str) -> None:
        subprocess.run(["nsenter", "-t", str(process.pid), "-m", *command], check=True)

    until("cannot be written, no space left. Make room there: the run continues then")
    inside("mount", "-o", "remount,size=4m", str(disk))
    until("can be written again: the run resumes")
    inside("umount", "-l", str(outputs))
    until("cannot be written, it is gone. Put it back there: the run continues then")
    inside("mount", "--bind", str(disk), str(outputs))
    until("can be written again: the run resumes")
    done = program.finish(process)
    assert done.code == 0, done
    summary = json.loads(done.out)
    assert (summary["counts"]["used"], summary["counts"]["errored"]) == (40, 0)
    assert len(fault_server.requests) == 40


@AS_ROOT
def test_an_unsaved_run_on_a_full_disk_is_saved_on_another_one_by_its_resume(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("long", LONG)
    fault_server.script(CHAT, [Reply(status=400), Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    assert program.run("long", "-m", "m", "-b", url, "-n", "2", "-r", "1", "-c", "1").code == 3
    [run], full = program.runs(), program.folder / "full"
    full.mkdir()
    steps = (
        f"mount -t tmpfs -o size=256k tmpfs {full} && cp -r {program.state}/. {full}"
        f" && (cat /dev/zero > {full}/filling 2> /dev/null; mount --bind {full} {program.state})"
    )
    program.before = ["unshare", "-m", "sh", "-c", f'{steps} || exit 77; "$@"; exit $?', "sh"]
    resume = "run", "--resume", str(run.path)
    refused = program.run(*resume)
    if refused.code == 77 and "permission denied" in refused.err:
        pytest.skip("nothing may be mounted here")
    assert f"{run.path}: the run cannot be written here: No space left" in refused.err
    done = program.run(*resume, "-s", "-o", "saved")
    assert done.code == 0, done
    assert [len(one.rows) for one in program.runs(program.folder / "saved")] == [2]

"""A key that a run uses is in none of its files, of its processes' arguments, and its crashes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from multi_turn_runs import CHAT, GOOD
from program import Program, wait_until
from servers import FaultServer

KEY = "planted-Zq3vX8nR2tYw"
PRINTS = """
import os, pathlib, sys, time
import tui_eval as vf

class Prints(vf.MultiTurnEnv):
    async def env_response(self, messages, state):
        key = os.environ["PLANTED"]
        print("printed", key)
        os.write(2, f"written {key}\\n".encode())
        os.system(f"echo from a child {key}")
        if state["answer"] == "raises":
            raise ValueError(f"refused with {key}")
        if state["answer"] == "waits" and not pathlib.Path("killed").exists():
            pathlib.Path("waits").touch()
            time.sleep(600)
        return [{"role": "user", "content": f"your key is {key}"}]

def load_environment():
    rows = [{"question": a, "answer": a} for a in ("good", "raises", "waits")]
    return Prints(max_turns=2, dataset=rows, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
"""


def test_a_planted_key_is_in_no_file_and_in_no_arguments_of_a_process(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("prints", PRINTS)
    program.env["PLANTED"] = KEY
    fault_server.script(CHAT, [GOOD])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-k", "PLANTED", "--header", f"X-Own: {KEY}")
    process = program.start("prints", *to, "-n", "-1", "-r", "1", "-s", "-d")
    wait_until((program.folder / "waits").exists, "a worker that waits")
    run = program.only_run()
    engine = json.loads((run.path / "lock").read_text())["pid"]
    family = [engine, *descendants(engine)]
    assert len(family) >= 3
    assert not [pid for pid in family if KEY in words(pid)]
    (program.folder / "killed").touch()
    [worker] = [pid for pid in family if "tui_eval.worker " in words(pid) + " "]
    os.kill(worker, signal.SIGSEGV)
    done = program.finish(process)
    assert done.code == 3, done
    assert len(run.rows) == 3 and f"signal {signal.SIGSEGV.value}" in done.err
    assert "from a child ***" in run.log and "refused with ***" in run.log
    assert "your key is ***" in json.dumps(run.rows)
    assert KEY not in done.out + done.err
    kept = [path for root in (run.path, program.state) for path in root.rglob("*")]
    assert not [path for path in kept if path.is_file() and KEY.encode() in path.read_bytes()]


def descendants(pid: int) -> list[int]:
    """The processes below one."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, children) for one in (child, *descendants(child))]


def words(pid: int) -> str:
    """A process's arguments."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()

"""Runs that are held at a phase, and what must be left of them after a signal."""

from __future__ import annotations

import os
import shutil
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

from program import Finished, Program, chat_answer, tool_call, wait_until
from servers import FaultServer, Reply

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
GOOD = Reply(body=chat_answer("yes"))
HANG = Reply(hang=True)
OVERLOADED = Reply(503, b"later", {"Retry-After": "600"})
EXAMPLES = 3

ENVIRONMENT = """
import asyncio, os, pathlib, re, subprocess, time
import tui_eval as vf

PHASE = os.environ.get("HOLD_AT", "")

def is_held(phase):
    if phase == PHASE:
        pathlib.Path("held").touch()
    return phase == PHASE

def block(phase):
    if is_held(phase):
        time.sleep(600)

async def wait(phase):
    if is_held(phase):
        await asyncio.sleep(600)

block("import")

class Env(vf.ToolEnv):
    async def setup_state(self, state):
        if state["example_id"] == 1:
            await wait("setup")
            block("setup that blocks")
        return await super().setup_state(state)

    @vf.cleanup
    async def clean_up(self, state):
        if state["example_id"] == 1:
            await wait("cleanup")

    @vf.teardown
    async def tear_down(self):
        await wait("teardown")
        block("teardown that blocks")

async def waiting():
    "Waits."
    await wait("tool")
    return "done"

async def blocking():
    "Blocks."
    block("tool that blocks")
    return "done"

def in_thread():
    "Runs a program."
    if is_held("plain tool"):
        subprocess.run(["sleep", "600"])
    return "done"

def plain_score(state):
    if state["example_id"] == 1:
        block("plain scoring")
    return 1.0

async def score(state):
    if state["example_id"] == 1:
        await wait("scoring")
        block("scoring that blocks")
        if is_held("scoring that blocks everything"):
            re.match("(a+)+$", "a" * 40 + "b")  # also other threads
    return 1.0

def load_environment():
    block("loading")
    return Env(
        tools=[waiting, blocking, in_thread],
        dataset=[{"question": str(i)} for i in range(3)],
        rubric=vf.Rubric(funcs=[plain_score, score]),
    )
"""


def calls(tool: str) -> Reply:
    return Reply(body=chat_answer("", tool_calls=[tool_call(tool, "{}")]))


# What the endpoint says before it only gives good answers, by phase.
ANSWERS = {
    "model call": [GOOD, HANG],
    "request asleep": [GOOD, OVERLOADED],
    "rollout asleep": [GOOD, Reply(body={"choices": []})],
    "tool": [GOOD, calls("waiting"), GOOD],
    "tool that blocks": [GOOD, calls("blocking"), GOOD],
    "plain tool": [GOOD, calls("in_thread"), GOOD],
}
# What the log says once a run is held, where neither the environment nor the server says it.
LOGGED = {"request asleep": "is tried again in 600", "rollout asleep": "runs again in"}


class HeldRun:
    """`tui-eval` in a folder of its own, on an environment that waits at one phase.

    Its processes and sockets can be told from all others: they have a runtime directory of their
    own.

    Args:
        folder: Made if it is not there.
        server: Its model endpoint; None for the embedded one.
    """

    def __init__(self, folder: Path, phase: str, server: FaultServer | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.phase = phase
        self.server = server
        self.runtime = Path(tempfile.mkdtemp(prefix="held-"))
        self.program = Program(folder)
        self.program.env |= {"XDG_RUNTIME_DIR": str(self.runtime), "HOLD_AT": phase}
        self.program.environment("held", textwrap.dedent(ENVIRONMENT))
        if server is not None:
            server.script(CHAT, ANSWERS.get(phase, [GOOD]))
            if phase == "preflight":
                server.script(MODELS, [HANG])

    def __enter__(self) -> HeldRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.end_all()
        for pid in self.processes():
            os.kill(pid, 9)
        shutil.rmtree(self.runtime)

    @property
    def args(self) -> list[str]:
        at = ["-m", "demo"]
        if self.server is not None:
            at = ["-m", "m", "-b", f"{self.server.url}/v1"]
        return ["held", *at, "-n", str(EXAMPLES), "-r", "1", "-c", "1", "-s", "--max-retries", "5"]

    def is_held(self) -> bool:
        """Whether the phase is reached."""
        logged = LOGGED.get(self.phase)
        if logged:
            return any(logged in run.log for run in self.program.runs() if _has_log(run.path))
        if self.phase == "preflight":
            return MODELS in self.paths
        if self.phase == "model call":
            return self.paths.count(CHAT) == 2
        return (self.program.folder / "held").exists()

    @property
    def paths(self) -> list[str]:
        """Paths of the requests to the server."""
        return [one.path for one in self.server.requests] if self.server is not None else []

    def processes(self) -> list[int]:
        """Every process of this run that is left."""
        mark = f"XDG_RUNTIME_DIR={self.runtime}\0".encode()
        return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ")
                if mark in _bytes(path)]  # fmt: skip

    def programs(self) -> list[int]:
        """Every process of this run that is left, but for what puts the time before log lines."""
        return [pid for pid in self.processes()
                if b"output_stamps" not in _bytes(Path(f"/proc/{pid}/cmdline"))]  # fmt: skip

    def check_what_is_left(self, done: int, *, of: int = EXAMPLES) -> None:
        """No process, no socket, no lock, whole files that say what there is."""
        wait_until(lambda: not self.processes(), "all processes are gone")
        assert not list(self.runtime.rglob("*.*"))
        for run in self.program.runs():
            assert not (run.path / "lock").exists()
            assert run.places() == [(i, 0) for i in range(done)]
            status = "finished" if done == of else "interrupted"
            assert run.metadata["status"] == status
            assert run.metadata["n_used"] == done

    def assert_resumable(self, work: Callable[..., Finished] = Program.run) -> None:
        """The run can be read, and resumed to its end without a doubled row.

        Args:
            work: What resumes it: a process of its own, or this one.
        """
        (run,) = self.program.runs()
        report = self.program.run("report", str(run.path))
        assert report.code == 0, report
        if self.server is not None:
            self.server.script(CHAT, [GOOD])
        self.program.env["HOLD_AT"] = ""
        again = work(self.program, "run", "--resume", str(run.path))
        assert again.code == 0, again
        assert self.program.only_run().places() == [(i, 0) for i in range(EXAMPLES)]
        self.check_what_is_left(EXAMPLES)


def _has_log(path: Path) -> bool:
    return (path / "engine.log").exists()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it ended meanwhile, or is somebody else's
        return b""

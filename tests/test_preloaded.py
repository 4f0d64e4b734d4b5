"""Runs that begin with everything loaded are as those that do not, and leave nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from preloaded import ENVIRONMENT, PreloadedProgram, may_be_preloaded
from program import Program, wait_until
from terminal import Terminal

pytestmark = pytest.mark.process

RUN = ("asleep", "-m", "demo", "-n", "1", "-r", "1", "-s")
ASLEEP = """
    import asyncio, os, pathlib
    import tui_eval as vf

    class Asleep(vf.SingleTurnEnv):
        async def setup_state(self, state):
            engine = os.getppid()
            parent = pathlib.Path(f"/proc/{engine}/stat").read_text().rpartition(")")[2].split()[1]
            pathlib.Path("engine").write_text(f"{engine} {parent} {os.getsid(engine)}")
            await asyncio.sleep(600)

    def load_environment():
        return Asleep(dataset=[{"question": "?"}], rubric=vf.Rubric())
"""


@pytest.fixture
def program(program: Program) -> Program:
    """Without what other tests, or libraries that they load, have left among the variables."""
    own = {key: value for key, value in program.env.items() if key.startswith(("TUI_EVAL", "XDG"))}
    program.env = ENVIRONMENT | own
    return program


def asleep(program: Program) -> tuple[subprocess.Popen[str], list[int]]:
    """A run whose only rollout sleeps: the program; the engine, its parent and its session."""
    program.environment("asleep", ASLEEP)
    process = program.start(*RUN)
    said = program.folder / "engine"
    wait_until(lambda: said.exists() and said.read_text().count(" ") == 2, "the rollout is asleep")
    return process, [int(number) for number in said.read_text().split()]


@pytest.mark.parametrize("words", [("no-such", "-m", "demo"), ("ls",), ("--help",)])
def test_exit_code_and_output_are_the_same(program: Program, words: tuple[str, ...]) -> None:
    preloaded = program.start(*words)
    done = program.finish(preloaded)
    program.preloaded = False
    plain = program.start(*words)
    assert isinstance(preloaded, PreloadedProgram)
    assert not isinstance(plain, PreloadedProgram)
    assert repr(done) == repr(program.finish(plain))


def test_engine_is_a_child_in_a_session_of_its_own(program: Program) -> None:
    process, (engine, parent, session) = asleep(program)
    assert isinstance(process, PreloadedProgram)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=0.01)
    assert (parent, session) == (process.pid, engine)
    assert os.getsid(process.pid) == os.getsid(0)
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130
    assert not Path(f"/proc/{engine}").exists()


def test_signal_that_ends_the_program_is_its_exit_code(program: Program) -> None:
    process, (engine, _, _) = asleep(program)
    process.kill()
    assert program.finish(process).code == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
    wait_until(lambda: not Path(f"/proc/{engine}").exists(), "the engine has no listener, and ends")


@pytest.mark.parametrize(
    ("changed", "preloaded"),
    [("TUI_EVAL_X", True), ("MY_KEY", True), ("PYTHONPATH", False), ("SSL_CERT_FILE", False)],
)
def test_what_may_be_read_while_loading_is_to_be_the_same(changed: str, preloaded: bool) -> None:
    assert may_be_preloaded({**ENVIRONMENT, changed: "other"}) is preloaded


def test_what_reads_no_certificates_is_loaded_though_others_have_some() -> None:
    none = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
    assert may_be_preloaded({**ENVIRONMENT, **none})
    assert not may_be_preloaded({**ENVIRONMENT, **none, "PYTHONPATH": "other"})


def test_nothing_is_left_when_the_worker_is_killed(program: Program) -> None:
    program.environment("asleep", ASLEEP)
    worker = f"""
        import os, signal, sys
        sys.path[:0] = {sys.path!r}
        from pathlib import Path
        from program import Program, wait_until
        from test_preloaded import asleep
        process, (engine, _, _) = asleep(Program(Path({str(program.folder)!r})))
        status = Path(f"/proc/{{process.pid}}/stat").read_text().rpartition(")")[2].split()
        print(status[1], process.pid, engine, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(worker)], stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == -signal.SIGKILL
    left = [Path("/proc", pid) for pid in done.stdout.split()]
    assert len(left) == 3
    wait_until(lambda: not any(one.exists() for one in left), "all of them have ended")


def test_arguments_and_variables_are_those_of_the_process(program: Program) -> None:
    program.env["TUI_EVAL_MARK"] = "here"
    process, (engine, _, _) = asleep(program)
    for pid, module in ((process.pid, b"tui_eval"), (engine, b"tui_eval.engine")):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        assert words[:3] == [os.fsencode(sys.executable), b"-m", module]
        assert b"TUI_EVAL_MARK=here" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130


def test_a_program_on_a_terminal_is_of_the_same_kind(program: Program) -> None:
    with closing(Terminal(program.folder, program.env, "reverse-text", *RUN[1:])) as terminal:
        assert isinstance(terminal.process, PreloadedProgram)
        terminal.wait_for("finished in")
        assert os.getsid(terminal.process.pid) == terminal.process.pid
        terminal.type("q")
        assert terminal.finish() == 0
        assert terminal.is_whole()


def test_what_a_test_starts_is_its_child_and_its_library_waits_for_it(tmp_path: Path) -> None:
    async def ask() -> tuple[int, int, bytes]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tui_eval.engine", "--list"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )
        parent = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1])
        out, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, parent, out

    code, parent, out = asyncio.run(ask())
    assert (code, parent) == (0, os.getpid())
    assert "reverse-text" in out.decode()

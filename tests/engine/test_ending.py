"""A run's end is reported truly and in time, whatever people's code does or leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from program import Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.runs.outcome import lost_engine_outcome, lost_engine_text

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

ENVIRONMENT = """
import asyncio, os, pathlib, threading, time
import tui_eval as vf

class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        SETUP
        return state

    @vf.cleanup
    async def clean_up(self, state):
        CLEANUP
        pathlib.Path(f"cleaned-{state['example_id']}").touch()

    @vf.teardown
    async def say_goodbye(self):
        TEARDOWN
        pathlib.Path("torn-down").touch()

async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

def load_environment():
    return Env(
        dataset=[{"question": str(i)} for i in range(3)],
        rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
    )
"""


def environment(
    program: Program, setup: str = "pass", cleanup: str = "pass", teardown: str = "pass"
) -> None:
    source = ENVIRONMENT.replace("SETUP", setup).replace("CLEANUP", cleanup)
    program.environment("held", source.replace("TEARDOWN", teardown))


def words(server: FaultServer, *more: str) -> list[str]:
    return ["held", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", "-n", "3", *more]


def in_flight(program: Program, server: FaultServer) -> tuple[Run, int]:
    """The run and its engine, once every rollout waits for its answer."""
    wait_until(lambda: len(server.requests) == 3, "three calls are in flight")
    run = program.only_run()
    return run, json.loads((run.path / "lock").read_bytes())["pid"]


LEFT = """
        threading.Thread(target=time.sleep, args=(600,)).start()
        self.task = asyncio.create_task(stubborn())
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
"""


@pytest.mark.slow
@pytest.mark.plain
def test_what_people_leave_running_does_not_hold_the_end(
    program: Program, fault_server: FaultServer
) -> None:
    environment(program, setup=LEFT.strip())
    fault_server.script(CHAT, [GOOD])
    done = program.finish(program.start(*words(fault_server)), within=20)
    assert done.code == 0, done


@pytest.mark.slow
def test_a_second_request_to_stop_does_not_cut_the_cleanup_short(
    program: Program, fault_server: FaultServer
) -> None:
    slowly = "pathlib.Path('cleaning').touch(); await asyncio.sleep(0.4)"
    environment(program, cleanup=slowly, teardown="await asyncio.sleep(0.1)")
    fault_server.script(CHAT, [Reply(hang=True)])
    process = program.start(*words(fault_server))
    run, engine = in_flight(program, fault_server)
    os.kill(engine, signal.SIGTERM)
    wait_until(lambda: (program.folder / "cleaning").exists(), "the first signal is at work")
    os.kill(engine, signal.SIGTERM)
    done = program.finish(process)
    assert done.code == 130, done
    assert len(list(program.folder.glob("cleaned-*"))) == 3
    assert (program.folder / "torn-down").exists()
    assert run.metadata["status"] == "interrupted"


@pytest.mark.parametrize(
    "place", ["cleanup", "teardown"], ids=["cleanup-that-hangs", "teardown-that-hangs"]
)
def test_an_engine_that_nobody_listens_to_ends_in_time(
    program: Program, fault_server: FaultServer, place: str
) -> None:
    environment(program, **{place: "await stubborn()"})
    fault_server.script(CHAT, [Reply(hang=True)])
    process = program.start(*words(fault_server))
    run, engine = in_flight(program, fault_server)
    process.kill()
    process.communicate()
    wait_until(lambda: not Path(f"/proc/{engine}").exists(), "the engine is gone")
    assert run.metadata["status"] == "interrupted"
    assert not (run.path / "lock").exists()


@pytest.mark.slow
@pytest.mark.plain
def test_code_that_ends_the_process_does_not_end_the_run_well(
    program: Program, fault_server: FaultServer
) -> None:
    environment(program, setup="state['example_id'] == 2 and os.kill(os.getppid(), 9)")
    fault_server.script(CHAT, [GOOD])
    done = program.run(*words(fault_server, "-c", "1"))
    assert done.code == 1, done
    assert "the engine was killed (signal 9" in done.err
    run = program.only_run()
    assert len(run.rows) == 2
    assert run.metadata["status"] == "failed"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "was killed (signal 9, SIGKILL; often: out of memory)"),
        (-11, "was killed (signal 11, SIGSEGV)"),
        (-40, "was killed (signal 40)"),
    ],
)
def test_a_signal_that_ended_the_engine_is_named(code: int, words: str) -> None:
    assert lost_engine_text(code) == words


@pytest.mark.plain
def test_an_environment_that_ends_the_process_on_import_is_reported(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("held", "import os; os._exit(0)")
    done = program.run(*words(fault_server))
    assert done.code == 1, done
    assert "environment held ended its worker while it was loaded: exit status 0" in done.err
    assert "resumed" not in done.err


@pytest.mark.parametrize("status", ["", "running"])
@pytest.mark.parametrize("code", [0, 3, 7, 130])
def test_an_end_that_the_engine_did_not_report_is_a_failure_whatever_its_exit_code(
    code: int, status: str
) -> None:
    metadata = {"status": status} if status else {}
    end = lost_engine_outcome(1.0, metadata, code, was_stopped=False, has_begun=bool(status))
    assert (end.status, end.exit_code) == ("failed", 1)
    assert f"the engine ended unexpectedly with exit code {code}" in end.text
    assert ("can be resumed" in end.text, "before the run began" in end.text) == (
        (True, False) if status else (False, True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["removed", "truncated", "run-removed"])
def test_results_that_somebody_takes_away_end_the_run(
    program: Program, fault_server: FaultServer, how: str
) -> None:
    environment(program)
    fault_server.script(CHAT, [GOOD, Reply(body=chat_answer("late"), delay=1.0)])
    process = program.start(*words(fault_server, "-c", "1"))
    run = wait_until(lambda: (r := program.runs()) and r[0].rows and r[0], "a row is there")
    if how == "removed":
        (run.path / "results.jsonl").unlink()
    elif how == "truncated":
        os.truncate(run.path / "results.jsonl", 0)
    else:
        run.path.rename(run.path.with_name("moved"))
        for path in run.path.with_name("moved").iterdir():
            path.unlink()
    done = program.finish(process)
    assert done.code == 1, done
    assert re.search("somebody else (changed|removed) (results|journal).jsonl", done.err)
    assert "cannot be written" in done.err


@pytest.mark.slow
def test_an_embedded_endpoint_that_dies_ends_the_run(program: Program) -> None:
    program.env["TUI_EVAL_DEMO_SPEED"] = "1"
    process = program.start("calculator", "-m", "demo", "-n", "100", "-c", "2")
    run = wait_until(lambda: (r := program.runs()) and r[0].rows and r[0], "a row is there")
    engine = json.loads((run.path / "lock").read_bytes())["pid"]
    children = Path(f"/proc/{engine}/task/{engine}/children").read_text().split()
    endpoints = [
        int(child)
        for child in children
        if b"tui_eval.demo.endpoint" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    os.kill(endpoints[0], signal.SIGKILL)
    done = program.finish(process)
    assert done.code == 1, done
    assert "the embedded endpoint ended" in done.err
    assert "Resume: tui-eval run --resume" in done.out


@pytest.mark.parametrize(
    "source",
    [
        "sampling_args={'stop': {'a'}, 'extra': object()}",
        "tools=[bad]",
        "pass_threshold='high'",
    ],
)
def test_values_that_json_does_not_have_do_not_end_the_engine(
    program: Program, fault_server: FaultServer, source: str
) -> None:
    program.environment(
        "held",
        f'''
        import tui_eval as vf

        def bad(x: str = "\\ud800") -> str:
            """Half a character: \\ud800."""
            return x

        def load_environment(seed=0):
            kwargs = dict({source})
            threshold = kwargs.pop("pass_threshold", 0.5)
            kind = vf.ToolEnv if "tools" in kwargs else vf.SingleTurnEnv
            env = kind(
                dataset=[{{"question": "1"}}] * 3,
                rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
                **kwargs,
            )
            env.pass_threshold = threshold
            return env
        ''',
    )
    fault_server.script(CHAT, [GOOD])
    done = run_here(program, *words(fault_server))
    assert done.code in (0, 2, 3), done
    if done.code != 2:
        assert len(program.only_run().rows) == 3
        assert program.only_run().metadata["n_total"] == 3


@pytest.mark.parametrize("flag", ["-a", "-S"])
def test_numbers_that_no_file_can_hold_are_refused(
    program: Program, fault_server: FaultServer, flag: str
) -> None:
    program.environment("held", ENVIRONMENT.replace("load_environment(", "load_environment(seed=0"))
    done = run_here(program, *words(fault_server, flag, f'{{"seed": {10**30}}}'))
    assert done.code == 2, done
    assert flag in done.err
    assert str(10**30) in done.err


@pytest.mark.slow
def test_a_teardown_that_fails_is_reported(program: Program, fault_server: FaultServer) -> None:
    environment(program, teardown="raise ValueError('the sandbox is still there')")
    fault_server.script(CHAT, [GOOD])
    done = run_here(program, *words(fault_server))
    assert done.code == 0, done
    assert "a teardown handler raised ValueError: the sandbox is still there" in done.err
    assert "in say_goodbye" in (program.only_run().path / "engine.log").read_text()


HANGING_ENGINE = """
import ctypes, subprocess, sys, threading, time
wait = "import os; from tui_eval.worker.__main__ import _end_after; _end_after(os.getppid())"
print(subprocess.Popen([sys.executable, "-c", wait]).pid, flush=True)
threading.Thread(target=time.sleep, args=[600]).start()
ctypes.CDLL(None).pthread_exit(None)
"""
"""Its main thread is gone and another one is not, as where a killed process waits for a disk."""


@pytest.mark.skipif(sys.platform != "linux", reason="of /proc")
def test_a_worker_ends_where_a_thread_of_its_killed_engine_hangs_in_the_system() -> None:
    engine = subprocess.Popen(
        [sys.executable, "-c", HANGING_ENGINE], stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout is not None
    with engine.stdout:
        worker = int(engine.stdout.readline())
    try:
        stat = Path(f"/proc/{worker}/stat")  # it has ended; nobody waits for it
        wait_until(lambda: ") Z " in stat.read_text(), "the end of the worker")
        assert engine.poll() is None
    finally:
        engine.kill()
        engine.wait()

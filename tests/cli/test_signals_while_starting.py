"""A signal before the run has begun ends the command quietly; no engine is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from held_runs import HeldRun
from program import PATIENCE_S, Finished, wait_until
from servers import FaultServer

pytestmark = pytest.mark.slow

# Waits where the name of a module is imported, in whichever process does so first.
HOLD_IMPORT = """
import os, pathlib, sys, time

class Hold:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["HOLD_IMPORT"]:
            pathlib.Path("held").touch()
            time.sleep(600)

sys.meta_path.insert(0, Hold())
"""


@pytest.fixture
def held(tmp_path: Path, fault_server: FaultServer):
    with HeldRun(tmp_path / "run", "nothing", fault_server) as run:
        yield run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "module",
    ["tui_eval.cli.main", "tui_eval.cli.console.console", "tui_eval.engine.execution.session"],
    ids=["command-line", "console", "engine"],
)
def test_a_signal_while_the_program_is_loaded_ends_it_quietly(
    held: HeldRun, module: str, number: int
) -> None:
    held.program.happens_at_start(HOLD_IMPORT)
    held.program.env["HOLD_IMPORT"] = module
    process = held.program.start(*held.args)
    wait_until(held.is_held, "the import waits")
    process.send_signal(number)
    done = held.program.finish(process)
    assert done.code == 130, done
    assert "Traceback" not in done.err
    assert not held.program.runs()
    held.check_what_is_left(0)


START_SLOWLY = """
import pathlib, time
from tui_eval.__main__ import main
from tui_eval.engine.transport import launcher

bind = launcher.bind_socket

def slowly(path):
    pathlib.Path("held").touch()
    while not pathlib.Path("go-on").exists():
        time.sleep(0.01)
    return bind(path)

launcher.bind_socket = slowly
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_engine_that_is_started_just_then_is_ended(
    held: HeldRun, number: int, tmp_path: Path
) -> None:
    (tmp_path / "slowly.py").write_text(textwrap.dedent(START_SLOWLY))
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "slowly.py"), *held.args],
        cwd=held.program.folder,
        env=held.program.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(held.is_held, "the engine is about to start")
    process.send_signal(number)
    (held.program.folder / "go-on").touch()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Stopped before the run began." in err
    assert not held.processes()
    assert not held.program.runs()
    held.check_what_is_left(0)


def test_at_whatever_moment_a_signal_comes_nothing_is_left(tmp_path: Path) -> None:
    def stopped_after(place: int) -> None:
        with FaultServer() as server, HeldRun(tmp_path / str(place), "loading", server) as held:
            held.program.preloaded = False
            process = held.program.start(*held.args)
            time.sleep(place * 0.08)
            process.send_signal(signal.SIGTERM)
            done = held.program.finish(process)
            # Before any code of ours runs the signal does what it does to every program; and Python
            # ends itself as by Ctrl-C where that came inside of `exec`. A shell says 130 to that.
            assert done.code in (130, -signal.SIGTERM, -signal.SIGINT), done
            assert "Traceback" not in done.err or done.code == -signal.SIGINT
            held.check_what_is_left(0)

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(stopped_after, place) for place in range(12)]:
            one.result()


def test_under_nohup_a_closed_terminal_does_not_stop_the_run(held: HeldRun) -> None:
    held.phase = held.program.env["HOLD_AT"] = "setup"
    command = ["nohup", sys.executable, "-m", "tui_eval", *held.args]
    process = subprocess.Popen(
        command,
        cwd=held.program.folder,
        env=held.program.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(held.is_held, "the run continues")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert err.count("Stopping") == 1, Finished(process.returncode, out, err)
    held.check_what_is_left(1)

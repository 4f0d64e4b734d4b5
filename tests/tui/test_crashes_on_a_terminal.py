"""Ends that no program can catch leave a whole terminal as well."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from compared_runs import two_runs
from held_runs import HeldRun
from program import Program, wait_until
from servers import FaultServer
from terminal import Terminal

pytestmark = pytest.mark.slow


@contextmanager
def on_screen(program: Program, answers: bool = False) -> Iterator[Terminal]:
    args = ("compare", *map(str, two_runs(program.folder)))
    how = {"answers": answers, "preloaded": False}
    with closing(Terminal(program.folder, program.env, *args, **how)) as on:
        on.wait_for("greatest difference first")
        on.wait_for(lambda: children(on))
        yield on


def children(on: Terminal) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(on.process.pid)], capture_output=True, text=True
    )
    return [int(pid) for pid in listed.stdout.split()]


def has_prompted(guardian: int) -> bool:
    """Whether the first `stty` has ended: then page faults of children are counted."""
    fields = Path(f"/proc/{guardian}/stat").read_text().rpartition(")")[2].split()
    return int(fields[8]) > 0


def given_back(on: Terminal) -> int:
    on.read_all()
    return on.raw.count(b"\x1b[?1049l")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_of_the_screen_leaves_the_terminal_whole(
    program: Program, number: signal.Signals
) -> None:
    with on_screen(program) as on:
        on.process.send_signal(number)
        assert on.finish() == -number
        on.wait_for(on.is_whole)
        for off in (b"?1003l", b"?1006l", b"?1004l", b"?2004l", b"<u", b"0m"):
            assert b"\x1b[" + off in on.raw.rpartition(b"\x1b[?2026l")[2]


def test_sigquit_ends_it_as_other_signals_do(program: Program) -> None:
    with on_screen(program) as on:
        on.process.send_signal(signal.SIGQUIT)
        assert on.finish() == 0
        assert on.is_whole()


def test_an_engine_whose_screen_was_killed_does_not_hold_the_terminal(
    tmp_path: Path, fault_server: FaultServer
) -> None:
    with (
        HeldRun(tmp_path, "scoring that blocks everything", fault_server) as held,
        closing(Terminal(tmp_path, held.program.env, *held.args, preloaded=False)) as on,
    ):
        on.wait_for(held.is_held)
        on.wait_for(lambda: len(children(on)) == 2)
        on.process.kill()
        on.finish()
        on.wait_for(on.is_whole)
        wait_until(lambda: not held.programs(), "the engine ends the run, and the worker")


def test_a_usual_end_gives_it_back_once_and_leaves_no_process(program: Program) -> None:
    with on_screen(program, answers=True) as on:
        (guardian,) = children(on)
        on.wait_for(lambda: on.answered > 1 and on.has_taken_keys)
        on.type("q")
        assert on.finish() == 0
        assert not Path(f"/proc/{guardian}").exists()
        assert given_back(on) == 1
        assert on.is_whole()


def test_while_the_terminal_is_a_shells_nothing_is_written_to_it(program: Program) -> None:
    with on_screen(program) as on:
        pid = on.process.pid
        on.process.send_signal(signal.SIGTSTP)
        on.wait_for(lambda: os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG))
        assert not children(on)
        on.process.send_signal(signal.SIGCONT)
        wait_until(lambda: children(on), "the terminal is taken again")
        on.process.kill()
        on.finish()
        on.wait_for(on.is_whole)
        assert given_back(on) == 2


def test_settings_that_a_shell_has_taken_meanwhile_stay_its_own(program: Program) -> None:
    with on_screen(program) as on:
        (guardian,) = children(on)
        wait_until(lambda: has_prompted(guardian), "the settings are known")
        settings = on.shell_takes_it()
        on.process.kill()
        on.finish()
        wait_until(lambda: not Path(f"/proc/{guardian}").exists(), "nobody writes any more")
        assert given_back(on) == 1
        assert on.settings == settings

"""Ctrl-C and signals leave a whole terminal and nothing else, whatever the run is at."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from compared_runs import two_runs
from held_runs import EXAMPLES, HeldRun
from program import Program, wait_until
from servers import FaultServer
from suites import Suites
from terminal import PATIENCE_S, Terminal

DONE_BY_PHASE = {
    "loading": 0,
    "preflight": 0,
    "setup that blocks": 1,
    "model call": 1,
    "request asleep": 1,
    "tool that blocks": 1,
    "plain scoring": 1,
    "scoring that blocks everything": 1,
    "teardown": EXAMPLES,
}
PHASES = list(DONE_BY_PHASE)


def ctrl_c_twice(terminal: Terminal) -> None:
    terminal.type("\x03")
    terminal.wait_for(lambda: "stay" in terminal.text or "engine finishes" in terminal.text)
    terminal.type("\x03")


def sent(number: signal.Signals) -> Callable[[Terminal], None]:
    return lambda terminal: terminal.process.send_signal(number)


@contextmanager
def held_on_screen(
    folder: Path, phase: str, at_start: str = "", *, suite: bool = False, preloaded: bool = True
) -> Iterator[tuple[HeldRun, Terminal]]:
    with ExitStack() as stack:
        server = stack.enter_context(FaultServer())
        held = stack.enter_context(HeldRun(folder, phase, server))
        if at_start:
            held.program.happens_at_start(at_start)
        if suite:
            Suites(held.program, server).write(*2 * ['env_id = "held"'], top="max_concurrent = 1")
        args = ["suite.toml"] if suite else held.args
        terminal = Terminal(folder, held.program.env, *args, preloaded=preloaded)
        stack.enter_context(closing(terminal))
        yield held, terminal


def left(folder: Path, phase: str, leave: Callable[[Terminal], None]) -> None:
    with held_on_screen(folder, phase) as (held, terminal):
        terminal.wait_for(held.is_held)
        done = DONE_BY_PHASE[phase]
        if "blocks" not in phase:  # what holds the loop holds the news, too
            terminal.wait_for(f"{done}/{EXAMPLES}" if done else "starting")
        leave(terminal)
        assert terminal.finish() == (0 if done == EXAMPLES else 130)
        assert terminal.is_whole()
        assert "Traceback" not in terminal.text
        held.check_what_is_left(done)
        if leave is ctrl_c_twice and phase in ("model call", "scoring that blocks everything"):
            held.assert_resumable()


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_whatever_the_run_is_at_it_is_left_in_time(tmp_path: Path, phase: str) -> None:
    number = (signal.SIGTERM, signal.SIGINT)[PHASES.index(phase) % 2]
    ways = [ctrl_c_twice, sent(number)]
    with ThreadPoolExecutor() as pool:
        for one in [
            pool.submit(left, tmp_path / str(place), phase, way) for place, way in enumerate(ways)
        ]:
            one.result()


# An engine that did not end in time is ended while it writes how its run ended.
KILLED_AT_ITS_END = """
import os, sys

if "tui_eval.engine" in sys.orig_argv:
    import tui_eval.runs.crash_recovery as dead

    dead.write_metadata = lambda *given: os.kill(os.getpid(), 9)
"""
# What the engine tells is never drawn: the machine is busy.
BEHIND = """
if "tui_eval" in sys.orig_argv:
    import tui_eval.tui.app as app

    app.TuiEvalApp.tick = lambda self: None
"""


@pytest.mark.slow
@pytest.mark.parametrize("suite", [False, True], ids=["one run", "a suite"])
@pytest.mark.parametrize("behind", ["", BEHIND], ids=["in time", "behind"])
def test_what_the_engine_had_no_time_to_write_is_written_for_it(
    tmp_path: Path, behind: str, suite: bool
) -> None:
    start = KILLED_AT_ITS_END + behind
    with held_on_screen(tmp_path, "setup that blocks", start, suite=suite) as (held, terminal):
        terminal.wait_for(held.is_held)
        if not behind:
            terminal.wait_for("running" if suite else f"1/{EXAMPLES}")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.finish() == 130
        wait_until(lambda: not held.processes(), "all processes are gone")
        run = held.program.only_run()
        assert run.metadata["status"] == "interrupted"
        assert not (run.path / "lock").exists()
        assert str(run.path.name) in terminal.text
        if not suite:
            held.check_what_is_left(1)


@pytest.mark.slow
def test_a_second_request_does_not_wait_for_the_engine(tmp_path: Path) -> None:
    with held_on_screen(tmp_path, "scoring that blocks everything") as (held, terminal):
        terminal.wait_for(held.is_held)
        ctrl_c_twice(terminal)
        terminal.wait_for(lambda: b"Stopping" in terminal.raw.rpartition(b"\x1b[?1049l")[2])
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.finish() == 130
        held.check_what_is_left(1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_after_the_end_of_the_run_a_signal_only_closes_the_screen(
    tmp_path: Path, number: int
) -> None:
    with held_on_screen(tmp_path, "nothing") as (held, terminal):
        terminal.wait_for("finished in")
        terminal.process.send_signal(number)
        assert terminal.finish() == 0
        assert terminal.is_whole()
        held.check_what_is_left(EXAMPLES)


@pytest.mark.slow
def test_a_window_that_is_closed_stops_the_run(tmp_path: Path) -> None:
    with held_on_screen(tmp_path, "model call") as (held, terminal):
        terminal.wait_for(held.is_held)
        terminal.wait_for("1/3")
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE_S) == 130
        held.check_what_is_left(1)


@pytest.mark.slow
def test_a_terminal_that_goes_without_a_signal_takes_the_screen_but_not_the_run(
    program: Program,
) -> None:
    many = ("-n", "60", "-r", "3")
    with closing(Terminal(program.folder, program.env, "demo", "-s", *many)) as terminal:
        terminal.wait_for("/180")
        terminal.cut()
        run = program.only_run()
        assert terminal.process.wait(PATIENCE_S) == 0
        wait_until(lambda: run.metadata.get("status") == "finished", "the run has ended")


@pytest.mark.slow
def test_at_whatever_moment_of_the_start_a_signal_comes_the_terminal_is_whole(
    tmp_path: Path,
) -> None:
    def stopped_after(place: int) -> None:
        folder = tmp_path / str(place)
        with held_on_screen(folder, "loading", preloaded=False) as (held, terminal):
            until = time.monotonic() + place * 0.06
            while time.monotonic() < until:
                terminal.read(0.01)
            terminal.process.send_signal(signal.SIGTERM)
            code = terminal.finish()
            assert code in (130, -signal.SIGTERM, -signal.SIGINT), bytes(terminal.raw[-2000:])
            assert b"\x1b[?1049h" not in terminal.raw or terminal.is_whole()
            held.check_what_is_left(0)

    with ThreadPoolExecutor(2) as pool:
        for one in [pool.submit(stopped_after, place) for place in range(12)]:
            one.result()


# Something happens once, within the moments in which the terminal is taken or given back.
HAPPENS_WITHIN = """
import os
from textual.drivers.linux_driver import LinuxDriver as Driver

name, what = os.environ["HAPPENS_WITHIN"].split("/")
usual = getattr(Driver, name)

def happens(self):
    usual(self)
    setattr(Driver, name, usual)
    if what == "fault":
        raise RuntimeError("a fault of the driver")
    os.kill(os.getpid(), int(what))

setattr(Driver, name, happens)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "what"),
    [
        ("_enable_mouse_support", signal.SIGTERM),  # its screen is taken
        ("_disable_line_wrap", signal.SIGTERM),  # its keys are read
        ("_disable_line_wrap", "fault"),
        ("_enable_line_wrap", "fault"),  # it is given back
    ],
)
def test_what_happens_while_the_terminal_is_taken_or_given_back_leaves_it_whole(
    program: Program, moment: str, what: int | str
) -> None:
    program.happens_at_start(HAPPENS_WITHIN)
    what = what if isinstance(what, str) else int(what)
    runs = map(str, two_runs(program.folder))
    program.env["HAPPENS_WITHIN"] = f"{moment}/{what}"
    with closing(Terminal(program.folder, program.env, "compare", *runs)) as on:
        if moment == "_enable_line_wrap":
            on.wait_for("greatest difference first")
            on.type("q")
        on.finish()
        assert b"\x1b[?1049h" in on.raw
        assert on.is_whole()
        assert ("a fault of the driver" in on.text) == (what == "fault")


# Where Python drops exceptions: a signal comes while an object is taken down.
DROPPED = """
import os, signal, sys

class Last:
    def __del__(self):
        os.kill(os.getpid(), int(os.environ["DROPPED"]))

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "tui_eval.tui.app":
            Last()

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_whose_interrupt_is_dropped_ends_the_program_all_the_same(
    program: Program, number: signal.Signals
) -> None:
    program.happens_at_start(DROPPED)
    program.env["DROPPED"] = str(int(number))
    with closing(Terminal(program.folder, program.env, "demo")) as terminal:
        # Python ends itself by a Ctrl-C that comes inside of `exec`: a shell says 130 to that, too
        assert terminal.finish() in (130, -signal.SIGINT)
        assert b"\x1b[?1049h" not in terminal.raw


@pytest.mark.slow
def test_a_job_that_was_stopped_from_outside_redraws_and_leaves_the_terminal_whole(
    program: Program,
) -> None:
    args = ["compare", *map(str, two_runs(program.folder))]
    with closing(Terminal(program.folder, program.env, *args, preloaded=False)) as on:
        on.wait_for("greatest difference first")
        on.type("x")
        on.wait_for("Export the comparison")
        pid = on.process.pid
        for typed in (20, 40):
            os.kill(pid, signal.SIGSTOP)
            on.wait_for(lambda: os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG))
            on.read_all()
            on.screen.reset()
            os.kill(pid, signal.SIGCONT)
            for _ in range(20):
                on.read(0.01)
                on.type("@")
            on.wait_for(lambda wanted=typed: on.text.count("@") == wanted)
            on.wait_for("greatest difference first")
        on.type("\x1b")
        on.wait_for(lambda: "@" not in on.text)
        on.type("q")
        assert on.finish() == 0
        assert on.is_whole()

"""Runs where Macs' systems lack what Linux has: without fdatasync, epoll, /proc and more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from program import Program, Run, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import PATIENCE_S, Terminal

from tui_eval.runs.lock import holder
from tui_eval.tui.base.terminal.driver import GONE_AFTER_S, POLL_INTERVAL_S

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
EXAMPLES = 6
SHORT = ("reverse-text", "-m", "demo", "-n", "2", "-r", "1", "-s")


class Lifecycle:
    """A run whose engine is killed, that is resumed, and that is looked at."""

    def __init__(self, folder: Path) -> None:
        self.program = Program(folder)
        self.program.happens_at_start((Path(__file__).parents[1] / "like_a_mac.py").read_text())
        with FaultServer() as server:
            server.script(CHAT, [GOOD, GOOD, Reply(hang=True)])
            url = f"{server.url}/v1"
            args = ("-m", "m", "-b", url, "-n", str(EXAMPLES), "-r", "1", "-c", "2", "-s")
            process = self.program.start("reverse-text", *args)
            self.run = wait_until(self._two_rows, "two rows are there")
            held = holder(self.run.path / "lock")
            assert held is not None
            os.kill(held.pid, signal.SIGKILL)
            self.killed = self.program.finish(process)
            self.rows_of_killed = len(self.run.rows)
            server.script(CHAT, [GOOD])
            self.resumed = self.program.run("run", "--resume", str(self.run.path), "--json")

    def _two_rows(self) -> Run | None:
        runs = self.program.runs()
        return runs[0] if runs and len(runs[0].rows) == 2 else None


@pytest.fixture(scope="module")
def lifecycle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lifecycle]:
    reported = Lifecycle(tmp_path_factory.mktemp("mac"))
    yield reported
    reported.program.end_all()


@pytest.mark.slow
def test_an_engine_that_is_killed_leaves_its_rows(lifecycle: Lifecycle) -> None:
    assert lifecycle.killed.code == 1, lifecycle.killed
    assert lifecycle.rows_of_killed == 2
    assert "signal 9" in lifecycle.killed.err or "SIGKILL" in lifecycle.killed.err, lifecycle.killed


@pytest.mark.slow
def test_the_run_is_resumed_to_its_end(lifecycle: Lifecycle) -> None:
    assert lifecycle.resumed.code == 0, lifecycle.resumed
    assert len(lifecycle.run.rows) == EXAMPLES
    assert lifecycle.run.metadata["status"] == "finished"
    assert "Traceback" not in lifecycle.run.log + lifecycle.resumed.err


@pytest.mark.slow
def test_the_memory_of_an_engine_is_known(lifecycle: Lifecycle) -> None:
    requested = "from tui_eval.engine.process import taken_with; print(taken_with([])[1])"
    command = [sys.executable, "-c", requested]
    done = subprocess.run(command, env=lifecycle.program.env, capture_output=True, text=True)
    assert 5 < float(done.stdout) < 4000, done


@pytest.mark.slow
def test_the_screen_runs_and_is_left(lifecycle: Lifecycle) -> None:
    with closing(Terminal(lifecycle.program.folder, lifecycle.program.env, *SHORT)) as terminal:
        terminal.wait_for("2/2")
        terminal.type("q")
        assert terminal.finish() == 0
        assert terminal.is_whole()
    assert b"Traceback" not in terminal.raw


@pytest.mark.slow
def test_the_screen_stays_until_its_terminal_is_lost(lifecycle: Lifecycle) -> None:
    with closing(Terminal(lifecycle.program.folder, lifecycle.program.env, *SHORT)) as terminal:
        terminal.wait_for("2/2")
        until = time.monotonic() + POLL_INTERVAL_S + GONE_AFTER_S + 0.5
        terminal.wait_for(lambda: time.monotonic() > until)
        assert terminal.process.poll() is None
        terminal.cut()
        assert terminal.process.wait(PATIENCE_S) == 0


@pytest.mark.slow
def test_the_program_of_a_browsers_tab_ends_with_the_server(
    lifecycle: Lifecycle, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(hang=True)])
    args = ("reverse-text", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-d")
    process = subprocess.Popen(
        [sys.executable, "-m", "tui_eval.cli.serve.in_browser", *args],
        cwd=lifecycle.program.folder,
        env=lifecycle.program.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: fault_server.requests, "the run has begun")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 130
    finally:
        process.kill()
        process.wait()

"""A disk that does not answer: the run pauses with the reason, and resumes once it does."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_listener import listening
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply
from steered_runs import CHAT, as_on_disk, figures
from stuck_process import stuck_process
from terminal import Terminal

from tui_eval.engine.transport.launcher import Launch
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder

WRITTEN = "results.jsonl", "journal.jsonl"
ONE_TURN = """
import tui_eval as vf

def load_environment():
    return vf.SingleTurnEnv(
        dataset=[{"question": str(i)} for i in range(8)],
        rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
    )
"""
LONGER_THAN_A_TEST_US = 600_000_000
LEFT_WITHIN_S = 25.0


@contextmanager
def without_answer(pid: int, run: Path, *threads: int, call: str = "write") -> Iterator[None]:
    """Holds the engine's writes to its run until the end of the block.

    Args:
        threads: Only what these of its threads write.
        call: The system call; all of another one, to whatever file.
    """
    if shutil.which("strace") is None:
        pytest.skip("system calls are delayed with strace")
    files = [word for name in WRITTEN for word in ("-P", str(run / name)) if call == "write"]
    fault = f"inject={call}:delay_enter={LONGER_THAN_A_TEST_US}"
    traced = ["-f", "-p", str(pid)] if not threads else []
    traced += [word for one in threads for word in ("-p", str(one))]
    tracing = subprocess.Popen(
        ["strace", *traced, *files, "-e", fault],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tracing.stderr is not None
    try:
        if "attached" not in (said := tracing.stderr.readline()):
            pytest.skip(f"nobody may be traced here: {said}")
        yield
    finally:
        tracing.send_signal(signal.SIGTERM)
        tracing.communicate()


@pytest.mark.slow
@pytest.mark.process
async def test_the_run_pauses_with_the_reason_and_resumes_once_the_disk_answers(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.3)])
    async with listening(LiveFeed(Launch(request_of(num_examples="8", max_concurrent="2")))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        run = program.only_run()
        with without_answer(one.feed.engine.pid, run.path):
            await one.until(lambda: one.state.refusal, "the disk does not answer")
            assert one.state.refusal.why == "the disk does not answer"
            await one.until(lambda: not one.state.gate_open, "the gate is closed")
            await one.until(lambda: one.state.refusal.records == 2, "what came waits")
            requests_before = len(fault_server.requests)
            status = json.loads(program.run("status", "--json").out)
            assert status["disk_refuses"]["why"] == "the disk does not answer"
            assert len(fault_server.requests) == requests_before < 8
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert len(fault_server.requests) == 8
    assert read_journal(RunDir(run.path)).answers == {}
    assert figures(one.state) == figures(as_on_disk(run))


LOADS_ONCE = """
import time
from pathlib import Path

import tui_eval as vf

def load_environment():
    Path("is_loading").touch()
    while not Path("may_load").exists():
        time.sleep(0.01)
    return vf.SingleTurnEnv(
        dataset=[{"question": str(i)} for i in range(2)],
        rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
    )
"""


@pytest.mark.slow
@pytest.mark.process
async def test_a_disk_that_does_not_answer_as_the_run_begins_is_reported(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("loads_once", LOADS_ONCE)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    request = request_of(env_id="loads_once", num_examples="2")
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until((program.folder / "is_loading").exists, "the environment loads")
        with without_answer(one.feed.engine.pid, program.folder, call="fsync,fdatasync,rename"):
            (program.folder / "may_load").touch()
            await one.until(lambda: one.state.notices, "the disk does not answer")
            [(level, text)] = one.state.notices
            assert level == "warning" and text.startswith("The disk of "), text
            assert "has not taken the files of the run for 5 s" in text
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert sorted(program.only_run().places()) == [(0, 0), (1, 0)]


@pytest.mark.slow
@pytest.mark.process
async def test_a_run_that_is_stopped_while_its_files_are_made_is_removed(
    program: Program, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("loads_once", LOADS_ONCE)
    async with listening(LiveFeed(Launch(request_of(env_id="loads_once")))) as one:
        await one.until((program.folder / "is_loading").exists, "the environment loads")
        with without_answer(one.feed.engine.pid, program.folder, call="fsync,fdatasync,rename"):
            (program.folder / "may_load").touch()
            await one.until(lambda: [*(program.folder / "outputs").rglob("lock")], "it begins")
            one.feed.engine.stop()
            await asyncio.sleep(0.2)  # the signal comes before the disk answers, or all is as ever
        assert await asyncio.to_thread(one.feed.engine.wait) == 130
    assert not [*(program.folder / "outputs").rglob("lock")]


def words(program: Program, server: FaultServer) -> list[str]:
    """A command that runs eight rollouts, two at a time."""
    program.environment("one_turn", ONE_TURN)
    server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.3)])
    options = {"-m": "m", "-b": f"{server.url}/v1", "-n": "8", "-r": "1", "-c": "2"}
    return ["one_turn", *(word for option in options.items() for word in option), "-s"]


@contextmanager
def held_by_disk(program: Program, read: Callable[[], None] = lambda: None) -> Iterator[int]:
    """The engine of the run that was started, which neither writes nor ends, once it says so."""
    run = wait_until(lambda: read() or next(iter(program.runs()), None), "the run begins")
    is_written = (run.path / "results.jsonl").is_file
    wait_until(lambda: read() or (is_written() and run.rows), "a row is written")
    held = holder(run.path / "lock")
    assert held is not None
    others = [int(one) for one in os.listdir(f"/proc/{held.pid}/task") if int(one) != held.pid]
    with stuck_process(held.pid), without_answer(held.pid, run.path, *others):
        wait_until(lambda: read() or refuses(program), "the disk does not answer")
        yield held.pid
        assert os.path.exists(f"/proc/{held.pid}")


def refuses(program: Program) -> Any:
    return json.loads(program.run("status", "--json").out)["disk_refuses"]


def assert_resumable(program: Program, server: FaultServer) -> None:
    run = program.only_run()
    server.script(CHAT, [Reply(body=chat_answer("yes"))])
    assert program.run("run", "--resume", str(run.path)).code == 0
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert len(server.requests) == 8


@pytest.mark.slow
@pytest.mark.process
def test_a_stop_leaves_an_engine_that_the_disk_holds(
    program: Program, fault_server: FaultServer
) -> None:
    process = program.start(*words(program, fault_server), "-d")
    with held_by_disk(program) as pid:
        process.send_signal(signal.SIGINT)
        done = program.finish(process, LEFT_WITHIN_S)
    assert done.code == 1, done
    assert f"The engine, process {pid}, does not end: it waits for the disk" in done.err
    assert "a resume takes them in" in done.err
    assert f"Resume then: tui-eval run --resume {program.only_run().path}" in done.err
    assert_resumable(program, fault_server)


@pytest.mark.slow
@pytest.mark.process
def test_so_does_the_screen(program: Program, fault_server: FaultServer) -> None:
    terminal = Terminal(program.folder, program.env, *words(program, fault_server))
    with closing(terminal):
        with held_by_disk(program, terminal.read) as pid:
            terminal.type_until("\x03", "stay")
            terminal.type("\x03")
            assert terminal.finish(LEFT_WITHIN_S) == 1
            assert terminal.is_whole()
        printed = " ".join(terminal.text.split())
    assert f"The engine, process {pid}, does not end: it waits for the disk" in printed
    assert_resumable(program, fault_server)

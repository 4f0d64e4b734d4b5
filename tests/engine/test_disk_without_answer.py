"""A disk that does not answer: the run pauses with the reason, and goes on once it does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from program import Program, Run, chat_answer, wait_until
from seat import seat
from servers import FaultServer, Reply
from steered_runs import CHAT, as_on_disk, figures
from unending import unending

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


@contextmanager
def without_answer(pid: int, run: Path, *threads: int) -> Iterator[None]:
    """What the engine writes to its run meanwhile is answered at the end of the block.

    Args:
        threads: Only what these of its threads write.
    """
    if shutil.which("strace") is None:
        pytest.skip("system calls are delayed with strace")
    files = [word for name in WRITTEN for word in ("-P", str(run / name))]
    fault = f"inject=write:delay_enter={LONGER_THAN_A_TEST_US}"
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


@pytest.mark.process
async def test_the_run_pauses_with_the_reason_and_goes_on_once_the_disk_answers(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.3)])
    async with seat(LiveFeed(request_of(num_examples="8", max_concurrent="2"))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        run = program.only_run()
        with without_answer(one.feed.engine.pid, run.path):
            await one.until(lambda: one.state.refusal, "the disk does not answer")
            assert one.state.refusal.why == "the disk does not answer"
            await one.until(lambda: not one.state.gate_open, "the gate is closed")
            await one.until(lambda: one.state.refusal.records == 2, "what came waits")
            asked = len(fault_server.requests)
            status = json.loads(program.run("status", "--json").out)
            assert status["disk_refuses"]["why"] == "the disk does not answer"
            assert len(fault_server.requests) == asked < 8
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert len(fault_server.requests) == 8
    assert read_journal(RunDir(run.path)).answers == {}
    assert figures(one.state) == figures(as_on_disk(run))


def begun(program: Program, server: FaultServer) -> tuple[subprocess.Popen[str], Run, int]:
    """A headless run of which a row is written, and its engine."""
    program.environment("one_turn", ONE_TURN)
    server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.3)])
    words = "one_turn", "-m", "m", "-b", f"{server.url}/v1", "-n", "8", "-r", "1", "-c", "2"
    process = program.start(*words, "-s", "-d")
    run = wait_until(lambda: next(iter(program.runs()), None), "the run begins")
    wait_until(lambda: (run.path / "results.jsonl").exists() and run.rows, "a row is written")
    held = holder(run.path / "lock")
    assert held is not None
    return process, run, held.pid


def refuses(program: Program) -> Any:
    return json.loads(program.run("status", "--json").out)["disk_refuses"]


@pytest.mark.process
def test_a_stop_leaves_an_engine_that_the_disk_holds(
    program: Program, fault_server: FaultServer
) -> None:
    process, run, pid = begun(program, fault_server)
    others = [int(one) for one in os.listdir(f"/proc/{pid}/task") if int(one) != pid]
    with unending(pid), without_answer(pid, run.path, *others):
        wait_until(lambda: refuses(program), "the disk does not answer", 20)
        process.send_signal(signal.SIGINT)
        done = program.finish(process, 20)
        assert os.path.exists(f"/proc/{pid}")
    assert done.code == 1, done
    assert f"The engine, process {pid}, does not end: it waits for the disk" in done.err
    assert "a resume takes them in" in done.err
    assert f"Go on then: tui-eval run --resume {run.path}" in done.err
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    assert program.run("run", "--resume", str(run.path)).code == 0
    assert sorted(run.places()) == [(i, 0) for i in range(8)]
    assert len(fault_server.requests) == 8

"""A disk that does not answer: the run pauses with the reason, and goes on once it does."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from program import Program, chat_answer
from seat import seat
from servers import FaultServer, Reply
from steered_runs import CHAT, as_on_disk, figures

from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir

WRITTEN = "results.jsonl", "journal.jsonl"
LONGER_THAN_A_TEST_US = 600_000_000


@contextmanager
def without_answer(pid: int, run: Path) -> Iterator[None]:
    """What the engine writes to its run meanwhile is answered at the end of the block."""
    if shutil.which("strace") is None:
        pytest.skip("system calls are delayed with strace")
    files = [word for name in WRITTEN for word in ("-P", str(run / name))]
    fault = f"inject=write:delay_enter={LONGER_THAN_A_TEST_US}"
    tracing = subprocess.Popen(
        ["strace", "-f", "-p", str(pid), *files, "-e", fault],
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

"""`-w auto`: one worker, and another one only where a core is full."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CODE = """
import asyncio
import os
import time
from pathlib import Path

import tui_eval as vf


def load_environment(what, examples, folder):
    async def led_in():
        Path(folder, str(os.getpid())).touch()
        until = time.monotonic() + 0.1
        while what == "computes" and time.monotonic() < until and len(os.listdir(folder)) < 2:
            pass
        if what == "waits":
            await asyncio.sleep(0.3)
        return float(os.getpid())

    rows = [{"question": f"q{n}", "answer": ""} for n in range(examples)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([led_in]))
"""


@pytest.fixture
def led(program: Program, fault_server: FaultServer) -> Program:
    program.environment("led", CODE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    return program


def workers_of(
    led: Program, server: FaultServer, folder: Path, what: str, examples: int, *more: str
) -> set[float]:
    seen = folder / "seen"
    seen.mkdir()
    args: dict[str, Any] = {"what": what, "examples": examples, "folder": str(seen)}
    to = ("-m", "m", "-b", f"{server.url}/v1", "-n", "-1", "-r", "1", "-s", "-w", "auto")
    done = run_here(led, "led", *to, "-a", json.dumps(args), *more)
    assert done.code == 0, done
    rows = led.only_run().rows
    assert len(rows) == examples
    return {row["reward"] for row in rows}


@pytest.mark.slow
def test_a_worker_that_keeps_a_core_full_gets_another_beside_it(
    led: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    pids = workers_of(led, fault_server, tmp_path, "computes", 300, "-c", "2")
    assert len(pids) >= min(cores(), 2)


@pytest.mark.slow
def test_a_full_core_is_noticed_with_ps_where_there_is_no_proc(
    led: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    led.happens_at_start((Path(__file__).parents[1] / "like_a_mac.py").read_text())
    (tmp_path / "seen").mkdir()
    args = {"what": "computes", "examples": 300, "folder": str(tmp_path / "seen")}
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", "1", "-s", "-w", "auto")
    done = led.run("led", *to, "-a", json.dumps(args), "-c", "2", "-d")
    assert done.code == 0, done
    pids = {row["reward"] for row in led.only_run().rows}
    assert len(pids) >= min(os.cpu_count() or 1, 2)


@pytest.mark.slow
def test_one_that_waits_stays_alone(
    led: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    assert len(workers_of(led, fault_server, tmp_path, "waits", 16, "-c", "2")) == 1


def test_where_all_rollouts_begin_at_once_all_workers_do(
    led: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    assert len(workers_of(led, fault_server, tmp_path, "", 4)) == min(cores(), 4)


@pytest.mark.slow
def test_hundreds_at_once_have_two_from_the_beginning(
    led: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    pids = workers_of(led, fault_server, tmp_path, "", 520, "-c", "512")
    assert len(pids) == min(cores(), 2)


def cores() -> int:
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1

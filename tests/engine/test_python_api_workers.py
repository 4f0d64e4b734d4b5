"""`env.evaluate(workers=N)`: rollouts of a program in processes of their own."""

from __future__ import annotations

import asyncio
import gc
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest
from api_runs import CHAT, GOOD, config, environment, until
from servers import FaultServer

import tui_eval as vf
from tui_eval.engine.execution.session import Session
from tui_eval.engine.workers.lease import Lease
from tui_eval.engine.workers.pool import Pool
from tui_eval.errors import RefusedError

SOURCE = """
import asyncio
import os
import time

import tui_eval as vf


def load_environment(examples=4, raises=(), waits=(), blocks=(), holds=()):
    async def led_in(completion, info):
        if info["number"] in raises:
            raise ValueError("not this one")
        if info["number"] in waits:
            await asyncio.sleep(60)
        if info["number"] in blocks:
            time.sleep(1.5)
        if info["number"] in holds:
            sum(range(10**12))
        return float(os.getpid())

    rows = [{"question": f"q{n}", "info": {"number": n}} for n in range(examples)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[led_in]))
"""


@pytest.fixture
def loaded(folder: Path, fault_server: FaultServer) -> vf.Environment:
    fault_server.script(CHAT, [GOOD])
    (folder / "environments").mkdir()
    (folder / "environments" / "led.py").write_text(textwrap.dedent(SOURCE))
    return vf.load_environment("led", examples=6, raises=[1])


async def test_rollouts_are_led_in_workers(
    loaded: vf.Environment, folder: Path, fault_server: FaultServer
) -> None:
    seen: list[int] = []
    done = await loaded.evaluate(
        *(config(fault_server), "m"),
        workers=2,
        on_progress=lambda every, new, metadata: seen.append(len(every)),
    )
    rewards = [row["reward"] for row in done["outputs"] if row["error"] is None]
    assert len(rewards) == 5 and os.getpid() not in rewards
    assert len(set(rewards)) == 2
    [error] = [row["error"] for row in done["outputs"] if row["error"] is not None]
    assert error["class"] == "scoring" and "not this one" in error["error_chain_repr"]
    assert seen[-1] == 6
    assert not any(Path(f"/proc/{int(pid)}").exists() for pid in rewards)


def all_of(*kinds: type) -> list[Any]:
    return [one for one in gc.get_objects() if isinstance(one, kinds)]


async def test_an_engine_that_closes_in_haste_ends_workers_that_are_held(
    loaded: vf.Environment, fault_server: FaultServer
) -> None:
    env = vf.load_environment("led", examples=1, holds=[0])
    before = all_of(Session, Pool)
    run = asyncio.create_task(env.evaluate(config(fault_server), "m", workers=1))
    await until(lambda: fault_server.requests)
    new = [one for one in all_of(Session, Pool) if not any(one is other for other in before)]
    session, pool = sorted(new, key=lambda one: isinstance(one, Pool))
    workers = [*pool.every]
    await asyncio.to_thread(session.emergency_close)
    await until(lambda: all(one.process_has_ended for one in workers))
    assert len(workers) == 1
    run.cancel()
    with pytest.raises((asyncio.CancelledError, OSError)):
        await run


async def test_what_no_worker_can_have_is_refused_at_once(
    folder: Path, fault_server: FaultServer
) -> None:
    client = vf.OpenAIChatCompletionsClient(config(fault_server))
    with pytest.raises(RefusedError) as refused:
        await environment().evaluate(client, "m", workers=2)
    text = str(refused.value)
    assert "vf.load_environment" in text and "ClientConfig" in text
    with pytest.raises(RefusedError, match="workers"):
        await environment().evaluate(config(fault_server), "m", workers=-2)


@pytest.mark.parametrize("workers", [0, 1], ids=["here", "in-a-worker"])
async def test_a_call_that_takes_too_long_is_the_error_of_its_rollout(
    loaded: vf.Environment, fault_server: FaultServer, workers: int
) -> None:
    env = vf.load_environment("led", examples=3, waits=[1], holds=[] if not workers else [2])
    done = await env.evaluate(config(fault_server), "m", workers=workers, call_timeout=1.0)
    errors = {row["info"]["number"]: row["error"] for row in done["outputs"] if row["error"]}
    assert errors.keys() == ({1, 2} if workers else {1})
    for error in errors.values():
        assert error["class"] == "scoring"
        assert "'led_in' took longer than 1 s" in error["error_chain_repr"]


async def test_a_call_that_held_the_program_is_an_error_once_it_is_over(
    loaded: vf.Environment, fault_server: FaultServer
) -> None:
    env = vf.load_environment("led", examples=2, blocks=[0])
    done = await env.evaluate(config(fault_server), "m", call_timeout=0.5)
    [error] = [row["error"] for row in done["outputs"] if row["error"]]
    assert "'led_in' took longer than 0.5 s" in error["error_chain_repr"]


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
async def test_a_limit_of_calls_that_is_none_is_refused(
    loaded: vf.Environment, fault_server: FaultServer, seconds: float
) -> None:
    with pytest.raises(RefusedError, match="call_timeout"):
        await loaded.evaluate(config(fault_server), "m", call_timeout=seconds)
    assert not fault_server.requests


GROUPED = """
import tui_eval as vf

async def first(states):
    return [float(state["number"] == 0) if "number" in state else 1.0 for state in states]

def load_environment():
    rows = [{"question": f"q{n}"} for n in range(12)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[first]))
"""


async def test_of_a_rollout_that_has_its_row_no_lease_is_kept(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    (folder / "environments").mkdir()
    (folder / "environments" / "grouped.py").write_text(GROUPED)
    kept: list[int] = []

    def count(every: list[object], new: list[object], metadata: object) -> None:
        kept.append(sum(isinstance(one, Lease) for one in gc.get_objects()))

    env = vf.load_environment("grouped")
    options = {"rollouts_per_example": 2, "max_concurrent": 2, "workers": 1, "on_progress": count}
    done = await env.evaluate(config(fault_server), "m", **options)
    assert len(done["outputs"]) == 24
    assert max(kept) <= 6, kept

"""Runs of a program that are cancelled, interrupted, or left when the program ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from api_runs import CHAT, GOOD, config, environment, interrupted, until
from program import Run, wait_until
from servers import FaultServer, Reply

import tui_eval as vf


class Tidy(vf.SingleTurnEnv):
    """Notes whose cleanup ran, slowly."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tidied: list[int] = []

    @vf.cleanup
    async def tidy(self, state: vf.State) -> None:
        await asyncio.sleep(0.05)
        self.tidied.append(state["example_id"])


async def test_cancelling_leaves_whole_files_and_cleans_up_what_was_in_flight(
    folder: Path, fault_server: FaultServer
) -> None:
    env = environment(kind=Tidy)
    await interrupted(env, fault_server, folder / "run")
    assert sorted(env.tidied) == [0, 1, 2, 3]
    run = Run(folder / "run")
    assert run.places() == [(0, 0), (1, 0)]
    assert run.metadata["status"] == "interrupted"
    assert not (run.path / "lock").exists()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_second_cancellation_does_not_cut_the_cleanup_short(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(hang=True)])
    env = environment(kind=Tidy)
    task = asyncio.create_task(env.evaluate(config(fault_server), "m"))
    await until(lambda: len(fault_server.requests) == 6)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(env.tidied) == [0, 1, 2, 3, 4, 5]


PROGRAM = """
    import asyncio, sys
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        @vf.cleanup
        async def tidy(self, state):
            await asyncio.sleep(0.2)
            print("tidied", flush=True)

        @vf.teardown
        async def tear_down(self):
            await asyncio.sleep(0)
            print("torn down", flush=True)

    env = Env(dataset=[{"question": "a"}, {"question": "b"}], rubric=vf.Rubric([]))
    client = vf.ClientConfig(api_base_url=sys.argv[1], api_key_var="")
"""


def start(folder: Path, server: FaultServer, rest: str) -> subprocess.Popen[str]:
    source = textwrap.dedent(PROGRAM) + textwrap.dedent(rest)
    return subprocess.Popen(
        [sys.executable, "-c", source, f"{server.url}/v1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


def test_teardown_runs_once_and_when_the_program_ends(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    rest = """
        for _ in range(2):
            env.evaluate_sync(client, "m")
            print("evaluated", flush=True)
    """
    out, err = start(folder, fault_server, rest).communicate(timeout=60)
    assert out.splitlines() == [
        *["tidied", "tidied", "evaluated"] * 2,
        "torn down",
    ]
    assert err == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        "asyncio.run(env.evaluate(*arguments))",
        "env.evaluate_sync(*arguments)",
        "asyncio.new_event_loop().run_until_complete(below())",
    ],
    ids=["own-loop", "sync", "sync-below-a-loop"],
)
def test_ctrl_c_stops_a_program_cleanly(folder: Path, fault_server: FaultServer, way: str) -> None:
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    rest = f"""
        arguments = (client, "m", None, -1, 1, -1, "run")
        async def below():
            env.evaluate_sync(*arguments)
        {way}
    """
    process = start(folder, fault_server, rest)
    run = Run(folder / "run")
    wait_until(lambda: len(fault_server.requests) == 2, "both are requested")
    wait_until(lambda: (run.path / "results.jsonl").exists() and run.rows, "one is answered")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert err.strip().endswith("KeyboardInterrupt")
    assert out.splitlines() == ["tidied", "tidied", "torn down"]
    assert len(run.rows) == 1
    assert run.metadata["status"] == "interrupted"
    assert not (run.path / "lock").exists()

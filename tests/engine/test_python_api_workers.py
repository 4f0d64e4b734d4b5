"""`env.evaluate(workers=N)`: rollouts of a program in processes of their own."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from api_runs import CHAT, GOOD, config, environment
from servers import FaultServer

import tui_eval as vf
from tui_eval.errors import RefusedError

SOURCE = """
import os

import tui_eval as vf


def load_environment(examples=4, seeds=None):
    async def led_in(completion, info):
        if info["number"] == 1:
            raise ValueError("not this one")
        return float(os.getpid())

    rows = [{"question": f"q{n}", "info": {"number": n}} for n in range(examples)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[led_in]))
"""


@pytest.fixture
def loaded(folder: Path, fault_server: FaultServer) -> vf.Environment:
    fault_server.script(CHAT, [GOOD])
    (folder / "environments").mkdir()
    (folder / "environments" / "led.py").write_text(textwrap.dedent(SOURCE))
    return vf.load_environment("led", examples=6)


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

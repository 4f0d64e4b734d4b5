"""The sync ways of a run below a loop that runs already, as in a notebook."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf

CHAT = "/v1/chat/completions"


def with_alarm(completion: Any, answer: str) -> float:
    """As graders do that give up after a while: Python allows it in the main thread only."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        return float(completion[-1]["content"] == answer)
    finally:
        signal.signal(signal.SIGALRM, before)


async def async_with_alarm(completion: Any, answer: str) -> float:
    await asyncio.sleep(0)
    return with_alarm(completion, answer)


@pytest.mark.parametrize("func", [with_alarm, async_with_alarm])
async def test_functions_that_need_the_main_thread_have_it(
    folder: Path, fault_server: FaultServer, func: Any
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    env = vf.SingleTurnEnv(dataset=[{"question": "q", "answer": "yes"}], rubric=vf.Rubric([func]))
    client = vf.ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="")
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    later = asyncio.create_task(asyncio.sleep(0, "afterwards"))
    got = env.evaluate_sync(client, "m", rollouts_per_example=3)
    assert [output["reward"] for output in got["outputs"]] == [1.0] * 3
    assert (asyncio.current_task(), asyncio.get_running_loop()) == (task, loop)
    assert not later.done()
    assert await later == "afterwards"

"""Environments of a program and runs of theirs that are interrupted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
EXAMPLES = [{"question": f"q{n}"} for n in range(6)]


def one(completion: Any) -> float:
    return 1.0


def together(completions: Any) -> list[float]:
    return [float(len(completions))] * len(completions)


def environment(*funcs: Any, kind: type[vf.Environment] = vf.SingleTurnEnv, **kwargs: Any) -> Any:
    return kind(**{"dataset": EXAMPLES, "rubric": vf.Rubric(list(funcs or [one])), **kwargs})


def config(server: FaultServer) -> vf.ClientConfig:
    return vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def interrupted(env: Any, server: FaultServer, path: Path, **kwargs: Any) -> None:
    """A run that is cancelled with two answers in and two calls in flight."""
    server.script(CHAT, [GOOD, GOOD, Reply(hang=True)])
    run = env.evaluate(config(server), "m", max_concurrent=2, results_path=path, **kwargs)
    task = asyncio.create_task(run)
    await until(lambda: len(server.requests) == 4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

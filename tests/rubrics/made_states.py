"""States of rollouts that wait for their scores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tui_eval.messages import AssistantMessage, UserMessage
from tui_eval.state import State

PATIENCE_S = 30.0
"""More than anything here takes; what waits so long has failed."""


def rollout(answer: Any = "42", said: str = "42", question: str = "What is 6 * 7?") -> State:
    return State(
        input={
            "prompt": [UserMessage(content=question)],
            "example_id": 0,
            "task": "default",
            "answer": answer,
        },
        completion=[AssistantMessage(content=said)],
        error=None,
        trajectory=[{"reward": None, "advantage": None}],
        timing={"generation_ms": 1.0},
    )


async def until(holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    async with asyncio.timeout(patience_s):
        while not holds():
            await asyncio.sleep(0.005)

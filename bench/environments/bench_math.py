"""What the bare loops in bare_sdk.py do, as an environment."""

from __future__ import annotations

import time
from typing import Any

import tui_eval as vf

HOLDS = "a tool holds the loop"


def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


async def slow_add(x: int, y: int) -> int:
    """Add two numbers, holding everything up for two seconds: plain tools run in threads."""
    print(HOLDS, flush=True)
    time.sleep(2)
    return x + y


slow_add.__name__ = add.__name__  # the endpoint calls a tool of this name


def correct(completion: list[vf.AssistantMessage]) -> float:
    """1 for the answer that the fast endpoint gives."""
    return float(completion[-1]["content"] == "The answer is 42.")


def load_environment(
    tools: bool = False, slow: bool = False, num_examples: int = 20000
) -> vf.Environment:
    """Single-turn questions; with `tools`, questions that a tool may answer."""
    dataset = [
        {"question": f"What is {i} + 2? Answer with the number only.", "answer": "42"}
        for i in range(num_examples)
    ]
    common: dict[str, Any] = {
        "dataset": dataset,
        "system_prompt": "You are a helpful assistant.",
        "rubric": vf.Rubric(funcs=[correct]),
    }
    if tools or slow:
        return vf.ToolEnv(tools=[slow_add if slow else add], **common)
    return vf.SingleTurnEnv(**common)

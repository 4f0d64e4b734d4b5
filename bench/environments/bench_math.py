"""Work of the bare loops in bare_sdk.py, as an environment."""

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


def waiting_add(x: int, y: int) -> int:
    """Add two numbers, in a second."""
    time.sleep(1)
    return x + y


waiting_add.__name__ = add.__name__
TOOLS = {"fast": add, "slow": slow_add, "waiting": waiting_add}


def correct(completion: list[vf.AssistantMessage]) -> float:
    """1 for the answer that the fast endpoint gives."""
    return float(completion[-1]["content"] == "The answer is 42.")


def load_environment(
    tool: str = "",
    scored_in_ms: float = 0,
    num_examples: int = 20000,
    replayable: bool = True,
) -> vf.Environment:
    """Single-turn questions; with a `tool`, questions that one of `TOOLS` may answer."""

    def computed(completion: list[vf.AssistantMessage]) -> float:
        """The same, after as many milliseconds of pure Python."""
        until = time.thread_time() + scored_in_ms / 1000
        while time.thread_time() < until:
            pass
        return correct(completion)

    dataset = [
        {"question": f"What is {i} + 2? Answer with the number only.", "answer": "42"}
        for i in range(num_examples)
    ]
    common: dict[str, Any] = {
        "dataset": dataset,
        "system_prompt": "You are a helpful assistant.",
        "rubric": vf.Rubric(funcs=[computed if scored_in_ms else correct]),
    }
    env: vf.Environment
    env = vf.ToolEnv(tools=[TOOLS[tool]], **common) if tool else vf.SingleTurnEnv(**common)
    env.replayable = replayable
    return env

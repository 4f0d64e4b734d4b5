"""Tools: one async, one with a dict parameter, one that raises; rewards that read the calls."""

from typing import Any

import verifiers as vf
from datasets import Dataset
from verifiers.types import Messages

STOCK = {"rope": 4, "lamp": 1, "tent": 0}


async def in_stock(item: str) -> int:
    """How many of an item are left.

    Args:
        item: Name of the item, in the singular.
    """
    return STOCK[item]


def place_order(order: dict[str, int], note: str = "") -> dict[str, Any]:
    """Orders several items at once.

    Args:
        order: How many of each item.
        note: Anything that the shop should know.
    """
    return {"ordered": dict(order), "note": note}


def answered(completion: Messages, **kwargs) -> float:
    last = completion[-1]
    return float(last["role"] == "assistant" and not last.get("tool_calls"))


def calls_with_arguments(completion: Messages, **kwargs) -> float:
    calls = [call for m in completion if m.get("tool_calls") for call in m["tool_calls"]]
    return float(sum(len(call.arguments) > 2 for call in calls))


async def results_seen(completion: Messages) -> float:
    return float(sum(m["role"] == "tool" and bool(m["content"]) for m in completion))


def load_environment(max_turns: int = 5, **kwargs) -> vf.Environment:
    questions = ["Is there a lamp left?", "Order two ropes.", "Are tents sold out?", "Buy a rope."]
    rubric = vf.Rubric(funcs=[answered])
    rubric.add_metric(calls_with_arguments)
    rubric.add_metric(results_seen)
    env = vf.ToolEnv(
        dataset=Dataset.from_list([{"question": q, "answer": ""} for q in questions]),
        tools=[in_stock],
        max_turns=max_turns,
        rubric=rubric,
        error_formatter=lambda e: f"The shop could not do that ({type(e).__name__}).",
        **kwargs,
    )
    env.add_tool(place_order)
    return env

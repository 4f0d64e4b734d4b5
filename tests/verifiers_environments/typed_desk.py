"""Tools of every kind of argument: choices, enums, lists, defaults, models, other results."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Optional

from datasets import Dataset
from verifiers.envs.tool_env import ToolEnv
from verifiers.rubrics.rubric import Rubric

if TYPE_CHECKING:
    from verifiers.envs.sandbox_env import SandboxEnv  # noqa: F401
    from verifiers.types import Messages, State


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Receipt:
    item: str
    cost: float


def quote(item: str, size: Size = Size.SMALL, currency: Literal["EUR", "SEK"] = "EUR") -> Receipt:
    """What an item costs.

    Args:
        item: Its name.
        size: Of two.
        currency: In which it is paid.
    """
    factor = 2 if size in (Size.LARGE, "large") else 1
    return Receipt(item, len(item) * factor * (11.5 if currency == "SEK" else 1.0))


async def total(prices: list[float], discount: Optional[float] = None) -> float:  # noqa: UP045
    """Adds prices."""
    return sum(prices) * (1 - (discount or 0.0))


def stock(names: list[str], detailed: bool = False, limit: int | None = 3) -> dict:
    return {name: len(name) for name in names[:limit]} | ({"detailed": True} if detailed else {})


def nothing() -> None:
    """Returns nothing at all."""


def broken(reason: str) -> str:
    """Never works."""
    raise ValueError(f"broken because {reason}")


def tool_texts(completion: Messages, state: State) -> float:
    texts = [m["content"] for m in completion if m["role"] == "tool"]
    return float(sum(len(text) for text in texts)) / max(len(state["trajectory"]), 1)


def errors_seen(completion) -> float:
    return float(sum("broken" in str(m.content) for m in completion if m.role == "tool"))


def load_environment(max_turns: int = 6, **kwargs) -> ToolEnv:
    questions = ["Price a lamp.", "Break it.", "Count stock."]
    return ToolEnv(
        tools=[quote, total, stock, nothing, broken],
        max_turns=max_turns,
        eval_dataset=Dataset.from_list(
            [{"question": q, "answer": str(i)} for i, q in enumerate(questions)]
        ),
        rubric=Rubric(funcs=[tool_texts, errors_seen], weights=[0.01, 0.0]),
        **kwargs,
    )

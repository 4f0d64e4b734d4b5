"""Input and output of a policy, and the dice that decide its mistakes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Call(msgspec.Struct, frozen=True):
    """A tool call; `arguments` is a JSON object in Python's shapes."""

    id: str
    name: str
    arguments: dict[str, Any]


class Reply(msgspec.Struct, frozen=True):
    """One answer: text, reasoning and tool calls, each of which may be missing."""

    content: str = ""
    reasoning: str = ""
    calls: Sequence[Call] = ()


class Dialogue(msgspec.Struct, frozen=True):
    """A validated conversation in the shape of the wire, with the tools that are offered."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def instructions(self) -> str:
        """Text of the system's messages."""
        return "\n".join(
            text_of(message)
            for message in self.messages
            if message["role"] in ("system", "developer")
        )

    @property
    def user_texts(self) -> list[str]:
        """Texts of the user, message by message."""
        return [text_of(message) for message in self.messages if message["role"] == "user"]

    @property
    def question(self) -> str:
        """The first thing that the user says."""
        return next(iter(self.user_texts), "")

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The assistant's messages."""
        return [message for message in self.messages if message["role"] == "assistant"]

    @property
    def tool_results(self) -> list[tuple[str, str]]:
        """Call id and text of every tool result."""
        return [
            (message["tool_call_id"], text_of(message))
            for message in self.messages
            if message["role"] == "tool"
        ]

    @property
    def functions(self) -> dict[str, dict[str, Any]]:
        """Name and JSON schema of every function that is offered."""
        functions = (tool["function"] for tool in self.tools)
        return {
            function["name"]: function.get("parameters") or {"type": "object"}
            for function in functions
        }


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, whether it is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content or () if part.get("type") == "text")


class Dice:
    """Repeatable chance: the same seed and temperature make the same choices.

    Args:
        seed: Anything; equal seeds roll alike.
        temperature: 0 to 2; the higher, the more often `slips` is true.
        repetition: Number of earlier requests that were the same.
    """

    def __init__(self, seed: str | int, temperature: float, repetition: int = 0) -> None:
        self.random = random.Random(f"{repetition} {seed}")
        self.repetition = repetition
        self.temperature = temperature

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def slips(self, probability: float) -> bool:
        """True with about this probability at temperature 1: a fifth of it at 0, 1.8 times at 2."""
        return self.chance(min(0.95, probability * (0.2 + 0.8 * self.temperature)))

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self.random.choice(options)

    def call_id(self, step: int = 0) -> str:
        """A new id of a tool call, whose last two digits are a step of a plan (0 to 99)."""
        return f"call_{self.random.getrandbits(80):020x}{step:02d}"

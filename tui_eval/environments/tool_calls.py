"""The calls of one turn: what a model requested, and what goes back to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import msgspec

from tui_eval.messages import ToolCall, ToolMessage, to_message
from tui_eval.output import Output
from tui_eval.plain_calls.functions import PlainFunction, call_plain
from tui_eval.types import ToolRecord


class UnknownToolError(KeyError):
    """The model called a tool that does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


class Use(msgspec.Struct):
    """One call of a turn.

    Args:
        record: Its record; None until it has ended.
        message: The answer to the model; None until there is something.
        is_read: Whether its arguments are a JSON object.
        is_fatal: Whether what is raised for it is no matter of the model's, and ends the rollout.
        output: The output of the call.
    """

    call: ToolCall
    record: ToolRecord | None = None
    message: ToolMessage | None = None
    is_read: bool = False
    is_fatal: bool = False
    output: Output | None = None

    @property
    def is_over(self) -> bool:
        """Whether the call has ended."""
        return self.record is not None


async def one_by_one(uses: Sequence[Use], make: Callable[[Use], Awaitable[None]]) -> None:
    """Makes calls one after the other, up to the first that raises."""
    for use in uses:
        await make(use)


_TURN: ContextVar[asyncio.Lock | None] = ContextVar("turn", default=None)
"""The lock that plain functions of simultaneous calls take one after the other."""


def call_in_turn(function: PlainFunction, call: Callable[[], Any]) -> Awaitable[Any]:
    """Calls a plain function, after those of other calls of its turn."""
    turn = _TURN.get()
    return call_plain(function, call) if turn is None else _call_after(turn, function, call)


async def _call_after(turn: asyncio.Lock, function: PlainFunction, call: Callable[[], Any]) -> Any:
    async with turn:
        return await call_plain(function, call)


async def together(uses: Sequence[Use], make: Callable[[Use], Awaitable[None]]) -> None:
    """Makes calls at the same time; plain functions among them run one after the other.

    One that raises ends those after it, and those before it run to their end: which of several
    errors is raised, the first in order, does not depend on which came first. Cancelling this
    cancels all, and waits until they have ended.
    """
    tasks: list[asyncio.Task[None]] = []

    async def follow(place: int) -> None:
        try:
            await make(uses[place])
        except BaseException:
            for later in tasks[place + 1 :]:
                later.cancel()
            raise

    before = _TURN.set(asyncio.Lock())
    tasks += [asyncio.create_task(follow(place)) for place in range(len(uses))]
    _TURN.reset(before)
    # Cancelled, it cancels the tasks and raises only when all have ended.
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
            raise error


def read_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call.

    Raises:
        ValueError: They are no JSON object; a `JSONDecodeError` where they are no JSON.
        RecursionError: They are nested too deeply.
    """
    arguments = json.loads(call.arguments)
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        raise ValueError(f"The arguments of {call.name!r} must be a JSON object, not a {kind}")
    return arguments


def to_content(result: Any) -> Any:
    """A tool's result as the content of a message.

    A list of text and image parts stays one, bytes are read as UTF-8, and anything else becomes
    the text that `str` makes of it.
    """
    if isinstance(result, str):
        return result
    if isinstance(result, (bytes, bytearray)):
        return bytes(result).decode("utf-8", "replace")
    if result and isinstance(result, list) and all(map(_is_part, result)):
        return result
    return str(result)


def as_tool_message(answer: Any, call_id: str) -> ToolMessage:
    """A result of `call_tool` as a tool message; people's own version may return less."""
    if isinstance(answer, ToolMessage):
        return answer
    if isinstance(answer, Mapping) and answer.get("role") == "tool":
        message = to_message({"tool_call_id": call_id, **answer})
        assert isinstance(message, ToolMessage)
        return message
    return ToolMessage(tool_call_id=call_id, content=to_content(answer))


def _is_part(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") in ("text", "image_url")

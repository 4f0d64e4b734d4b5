"""Helpers with which agent loops answer tool calls, by the SDK's names."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tui_eval.compat.osmosis.conversation import CURRENT_CONVERSATION
from tui_eval.compat.osmosis.schemas import ToolArgumentError


def create_tool_result(tool_call_id: str, content: str) -> dict[str, str]:
    """The message that answers a tool call."""
    return {"role": "tool", "content": content, "tool_call_id": tool_call_id}


def create_tool_error_result(tool_call_id: str, error_message: str) -> dict[str, str]:
    """The message to the model that its call failed."""
    conversation = CURRENT_CONVERSATION.get()
    if conversation is not None:
        conversation.call_failed(tool_call_id, error_message)
    return create_tool_result(tool_call_id, f"Error: {error_message}")


def serialize_tool_result(result: Any) -> str:
    """A tool's result as text: text and numbers as they are, all else as JSON.

    Raises:
        TypeError: JSON cannot carry it.
    """
    if isinstance(result, str):
        return result
    if isinstance(result, (int, float)) and not isinstance(result, bool):
        return str(result)
    return json.dumps(result)


def parse_tool_arguments(arguments: Any) -> dict[str, Any]:
    """The arguments of a call, from JSON text or as they are.

    Raises:
        ToolArgumentError: They are no JSON object.
    """
    found = arguments
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            raise ToolArgumentError(f"The arguments are no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ToolArgumentError(f"The arguments are a {type(found).__name__}, not an object")
    return found


def get_tool_call_info(tool_call: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """The id, the tool's name and the arguments of a call.

    Raises:
        ToolArgumentError: The arguments are no JSON object; carries id and name.
    """
    function = tool_call.get("function") or {}
    call_id, name = tool_call.get("id") or "unknown", function.get("name") or ""
    try:
        return call_id, name, parse_tool_arguments(function.get("arguments", {}))
    except ToolArgumentError as error:
        raise ToolArgumentError(str(error), tool_call_id=call_id, tool_name=name) from error


async def execute_tool_calls(
    tool_calls: Sequence[dict[str, Any]],
    executor: Callable[[dict[str, Any]], Awaitable[dict[str, str]]],
) -> list[dict[str, str]]:
    """Makes calls at the same time.

    Args:
        executor: Makes one call, and returns the message that answers it.

    Returns:
        The messages, in the order of the calls.
    """
    return list(await asyncio.gather(*(_execute(call, executor) for call in tool_calls or ())))


async def _execute(
    call: dict[str, Any], executor: Callable[[dict[str, Any]], Awaitable[dict[str, str]]]
) -> dict[str, str]:
    conversation = CURRENT_CONVERSATION.get()
    began = time.perf_counter()
    try:
        message = await executor(call)
    except Exception as error:
        if conversation is not None:
            conversation.call_ended(
                call.get("id"), (time.perf_counter() - began) * 1000, None, error
            )
        raise
    if conversation is not None:
        content = message.get("content") if isinstance(message, Mapping) else None
        conversation.call_ended(call.get("id"), (time.perf_counter() - began) * 1000, content)
    return message

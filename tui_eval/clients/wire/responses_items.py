"""Conversations as the items of OpenAI's responses, there and back.

An answer is a list of items in an order that the model must see again: reasoning, messages, calls,
and whatever tools of the provider left. Where there is more in it than one text and calls, the
order is kept in the message's `thinking_blocks`: items whole, but for messages and function calls
without what the message itself holds (its text, its tool calls), so that an edited message is
replayed as edited.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tui_eval.clients.wire.replayed import ANYWHERE, ReasoningRoute, replayed, without_nulls
from tui_eval.errors import InvalidModelResponseError
from tui_eval.messages import AssistantMessage, CustomBaseModel, ToolCall, ToolMessage, to_message

Item = dict[str, Any]

_ELSEWHERE = {
    "message": ("type", "role", "content"),
    "function_call": ("type", "call_id", "name", "arguments"),
}


def to_items(
    messages: Sequence[Any], reasoning: ReasoningRoute = ANYWHERE
) -> tuple[list[Item], dict[str, Any]]:
    """The conversation as input items, and the system prompt as an argument of the request.

    System messages that come first and are plain text become `instructions`; others keep their
    place.
    """
    items: list[Item] = []
    instructions: list[str] = []
    for given in messages:
        message = to_message(given)
        if isinstance(message, AssistantMessage):
            items += _assistant_items(message, reasoning)
        elif isinstance(message, ToolMessage):
            output = _to_content(message.content, "input_text")
            call_id = message.tool_call_id
            items.append({"type": "function_call_output", "call_id": call_id, "output": output})
        elif message.role == "system" and not items and isinstance(message.content, str):
            instructions.append(message.content)
        else:
            role = "user" if message.role == "text" else message.role
            items.append({"role": role, "content": _to_content(message.content, "input_text")})
    return items, {"instructions": "\n\n".join(instructions)} if instructions else {}


def _assistant_items(message: AssistantMessage, reasoning: ReasoningRoute) -> list[Item]:
    content = message.content or ""
    calls = list(message.tool_calls or ())
    items: list[Item] = []
    blocks = message.thinking_blocks
    for block in blocks if blocks and reasoning.takes(message) else ():
        kind = block.get("type")
        if kind == "message":
            number = block.get("characters", 0)
            text, content = content[:number], content[number:]
            if text:
                items.append(_message_item(text, block))
        elif kind == "function_call":
            call = next((call for call in calls if call.id == block.get("call_id")), None)
            if call is not None:
                calls.remove(call)
                items.append(_call_item(call, block))
        elif not _is_foreign(kind):
            items.append(without_nulls(block))
    if content:
        items.append(_message_item(content, {}))
    items += [_call_item(call, {}) for call in calls]
    # The API refuses reasoning without that what it led to, as an answer cut off within it has.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _is_foreign(kind: Any) -> bool:
    """Whether a block is of another protocol: Anthropic's, or one of OpenRouter's details."""
    known = ("thinking", "redacted_thinking", "text", "tool_use")
    return kind in known or str(kind).startswith("reasoning.")


def _message_item(content: Any, marker: Item) -> Item:
    item: Item = {"type": "message", "role": "assistant"}
    if not marker:
        return {**item, "content": _to_content(content, "output_text")}
    item |= {key: value for key, value in without_nulls(marker).items() if key != "characters"}
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content, "annotations": []}]
    return {**item, "content": _to_content(content, "output_text")}


def _call_item(call: ToolCall, marker: Item) -> Item:
    item = {"type": "function_call", "call_id": call.id, "name": call.name}
    return {**item, "arguments": replayed(call.arguments), **without_nulls(marker)}


def _to_content(content: Any, text_type: str) -> Any:
    if not isinstance(content, list):
        return content
    parts = [_to_part(part, text_type) for part in content]
    return [part for part in parts if part.get("type") != text_type or part["text"]] or ""


def _to_part(given: Any, text_type: str) -> Item:
    part: Item = (
        given.model_dump(exclude_none=True) if isinstance(given, CustomBaseModel) else given
    )
    if part.get("type") == "text":
        return {"type": text_type, "text": part["text"]}
    if part.get("type") == "image_url":
        source = part["image_url"]
        source = {"url": source} if isinstance(source, str) else dict(source)
        return {"type": "input_image", "image_url": source.pop("url"), **source}
    return part


def from_items(items: Sequence[Item]) -> dict[str, Any]:
    """Output items as an assistant message's fields; a call that names no function is refused."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    blocks: list[Item] = []
    for item in items:
        kind = item.get("type")
        elsewhere = _ELSEWHERE.get(str(kind), ())
        block = {key: value for key, value in item.items() if key not in elsewhere}
        if kind == "message":
            texts.append(_text(item))
            blocks.append({"type": kind, "characters": len(texts[-1]), **block})
        elif kind == "function_call":
            calls.append(_from_call(item, len(calls) + 1))
            blocks.append({"type": kind, "call_id": calls[-1].id, **block})
        else:
            blocks.append(block)
        if kind == "reasoning":
            thoughts += _thoughts(item)
    return {
        "content": "".join(texts) if texts else None,
        "reasoning_content": "\n\n".join(thoughts) or None,
        "thinking_blocks": blocks if _has_more(blocks) else None,
        "tool_calls": calls or None,
    }


def _has_more(blocks: list[Item]) -> bool:
    """Whether an answer has more in it than one text, and calls behind it."""
    return any(
        block["type"] not in _ELSEWHERE
        or "phase" in block
        or (block["type"] == "message" and place > 0)
        for place, block in enumerate(blocks)
    )


def _from_call(item: Item, place: int) -> ToolCall:
    if not item.get("name"):
        raise InvalidModelResponseError(f"tool call {place} of the answer names no function")
    arguments = item.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments if arguments is not None else {})
    return ToolCall(
        id=item.get("call_id") or item.get("id") or "", name=item["name"], arguments=arguments
    )


def _text(item: Item) -> str:
    parts = item.get("content") or ()
    return "".join(part.get("text") or part.get("refusal") or "" for part in parts)


def _thoughts(item: Item) -> list[str]:
    parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
    return [part["text"] for part in parts if part.get("text")]

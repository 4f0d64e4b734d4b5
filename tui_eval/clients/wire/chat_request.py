"""The request of a chat completion: our messages, tools and arguments as they go over the wire.

Nothing is sent that says nothing: no property is null and no part of a content is empty, as many
servers refuse either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.clients.sampling import CallOptions, split_sampling
from tui_eval.clients.wire.replayed import ANYWHERE, ReasoningRoute, replayed
from tui_eval.messages import MESSAGE_TYPES, CustomBaseModel, ToolCall, fields_of, to_message
from tui_eval.types import Tool


def to_chat_messages(
    messages: Sequence[Any], reasoning: ReasoningRoute = ANYWHERE
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The conversation on the wire, and what it needs of the request beside."""
    wire: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []
    for given in messages:
        message: Any = given if type(given) in MESSAGE_TYPES else to_message(given)
        role, content = message.role, message.content
        if images and role != "tool":
            wire.append({"role": "user", "content": images})
            images = []
        if type(content) is list:
            content = _to_parts(content)
        if role == "assistant":
            # Beside tool calls some servers take no null and no missing content, but empty text.
            body = {"role": role, "content": content or ""}
            if message.tool_calls:
                calls = [_to_chat_call(call) for call in message.tool_calls]
                if message.__pydantic_extra__ and reasoning.is_elsewhere(message):
                    calls = [_without_signature(call) for call in calls]
                body["tool_calls"] = calls
            if message.reasoning_content or message.thinking_blocks:
                reasoning.add(body, message)
            wire.append(body)
        elif role == "tool":
            call_id = message.tool_call_id
            if type(content) is list:
                content = _without_images(content, call_id, images)
            wire.append({"role": role, "content": content, "tool_call_id": call_id})
        else:
            wire.append({"role": "user" if role == "text" else role, "content": content})
    if images:
        wire.append({"role": "user", "content": images})
    return wire, {}


def _without_images(parts: list[Any], call_id: str, images: list[dict[str, Any]]) -> Any:
    """A tool's result without its images, which the user shows after all results of the turn.

    Args:
        images: Gets them, under the id of their call.
    """
    found = [part for part in parts if part.get("type") == "image_url"]
    if found:
        images += [{"type": "text", "text": f"Images in the result of {call_id}:"}, *found]
    return [part for part in parts if part.get("type") != "image_url"] or "[image]"


def _to_parts(content: list[Any]) -> Any:
    """The parts of a content without empty texts; empty text where nothing is left."""
    parts = [
        part.model_dump(exclude_none=True) if isinstance(part, CustomBaseModel) else part
        for part in content
    ]
    return [part for part in parts if part.get("type") != "text" or part.get("text")] or ""


def _has_sound(wire: list[dict[str, Any]]) -> bool:
    return any(
        part.get("type") == "input_audio"
        for message in wire
        if type(message.get("content")) is list
        for part in message["content"]
    )


def _to_chat_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": replayed(call.arguments)}
    wire = {"id": call.id, "type": "function", "function": function}
    # Google's models refuse a call that comes back without the signature which is in here.
    extra = fields_of(call).get("extra_content")
    return wire if extra is None else {**wire, "extra_content": extra}


def _without_signature(call: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in call.items() if name != "extra_content"}


def to_chat_tool(tool: Tool) -> dict[str, Any]:
    """One tool as a function on the wire."""
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def to_chat_body(
    prompt: list[dict[str, Any]],
    model: str,
    sampling_args: Mapping[str, Any],
    tools: list[dict[str, Any]] | None,
    token_limit: str = "max_tokens",
) -> tuple[dict[str, Any], CallOptions]:
    """The whole request body, which requests a whole answer.

    Args:
        token_limit: The endpoint's name for `max_tokens`.

    Raises:
        ValueError: A sampling argument requests what cannot be had.
    """
    sampling, extra_body, options = split_sampling(sampling_args)
    if token_limit != "max_tokens" and "max_tokens" in sampling:
        sampling.setdefault(token_limit, sampling.pop("max_tokens"))
    if _has_sound(prompt):
        sampling.setdefault("modalities", ["text"])
    body = {
        "model": model, "messages": prompt, "n": 1, "stream": False, **sampling, **extra_body,
    }  # fmt: skip
    if "n" in sampling_args and sampling_args["n"] is None:
        del body["n"]
    if tools:
        body["tools"] = tools
    return body, options

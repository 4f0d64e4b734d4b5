"""Anthropic's messages in our types and ours in theirs; nothing here calls anybody."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.clients.faults import error_instead
from tui_eval.clients.sampling import CallOptions, split_sampling
from tui_eval.clients.wire.failed_answers import check_sdk_answer
from tui_eval.clients.wire.finish_reasons import finish_reason, is_known
from tui_eval.clients.wire.replayed import ANYWHERE, ReasoningRoute, replayed_object
from tui_eval.clients.wire.usage import from_anthropic_usage
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.messages import (
    MESSAGE_TYPES,
    AssistantMessage,
    CustomBaseModel,
    ToolCall,
    ToolMessage,
    to_message,
)
from tui_eval.types import Response, ResponseMessage, Tool

DEFAULT_MAX_TOKENS = 4096
NO_CONTENT = "(no content)"
"""The text of a user's message without content, which the API refuses."""
_TOOL_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_THINKING = ("thinking", "redacted_thinking")

_as_json = json.JSONEncoder(ensure_ascii=False).encode
"""As `json.dumps`, which makes an encoder for each call."""

Block = dict[str, Any]


def to_anthropic_messages(
    messages: Sequence[Any], reasoning: ReasoningRoute = ANYWHERE
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The conversation on the wire, and the system prompt as an argument of the request.

    System messages are taken out wherever they are; the results of one turn's tool calls become
    one message.
    """
    wire: list[dict[str, Any]] = []
    system: list[Any] = []
    results: list[Block] | None = None
    for given in messages:
        message: Any = given if type(given) in MESSAGE_TYPES else to_message(given)
        role = message.role
        if role == "tool":
            if results is None:
                results = []
                wire.append({"role": "user", "content": results})
            results.append(_tool_result(message))
            continue
        results = None
        if role == "assistant":
            blocks = _assistant_blocks(message, reasoning)
            if blocks:
                wire.append({"role": role, "content": blocks})
        elif role == "system":
            if not _is_blank(message.content):
                system.append(message.content)
        else:
            wire.append({"role": "user", "content": _to_content(message.content) or NO_CONTENT})
    instructions = _to_system(system) if system else ""
    return wire, {"system": instructions} if instructions else {}


def _to_system(contents: list[Any]) -> Any:
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents)
    return [block for content in contents for block in _to_blocks(content)]


def _tool_result(message: ToolMessage) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    content = _to_content(message.content)
    if content:
        result["content"] = content
    return result


def _assistant_blocks(message: AssistantMessage, reasoning: ReasoningRoute) -> list[Block]:
    # Thinking goes back where and as it was: Anthropic checks its signature. Reasoning without
    # blocks is another provider's and has no signature, so that it cannot be sent.
    content = message.content or ""
    calls = list(message.tool_calls or ())
    blocks: list[Block] = []
    thinking = message.thinking_blocks
    for kept in thinking if thinking and reasoning.takes(message) else ():
        kind = kept.get("type")
        if kind in _THINKING:
            blocks.append(kept)
        elif kind == "text" and isinstance(content, str):
            number = kept.get("characters", 0)
            blocks += _to_blocks(content[:number])
            content = content[number:]
        elif kind == "tool_use":
            call = next((call for call in calls if call.id == kept.get("id")), None)
            if call is not None:
                calls.remove(call)
                blocks.append(_tool_use(call))
    if content:
        blocks += _to_blocks(content)
    for call in calls:
        blocks.append(_tool_use(call))
    # The API refuses thinking at the end, as an answer that was cut off within it has.
    while blocks and blocks[-1]["type"] in _THINKING:
        blocks.pop()
    return blocks


def _tool_use(call: ToolCall) -> Block:
    arguments = replayed_object(call.arguments)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _to_content(content: Any) -> Any:
    """A content as the API has it; false where nothing of it is left."""
    if type(content) is str:
        return "" if content.isspace() else content
    return _to_blocks(content)


def _to_blocks(content: Any) -> list[Block]:
    """The blocks of a content without blank texts, which the API refuses."""
    if not content:
        return []
    if isinstance(content, str):
        return [] if content.isspace() else [_text_block(content)]
    blocks = [_to_block(part) for part in content]
    return [
        block for block in blocks if block.get("type") != "text" or not _is_blank(block["text"])
    ]


def _is_blank(content: Any) -> bool:
    """Whether a content is a text without a letter; `isspace` is false for the empty one."""
    return isinstance(content, str) and (not content or content.isspace())


def _to_block(given: Any) -> Block:
    part: Block = (
        given.model_dump(exclude_none=True) if isinstance(given, CustomBaseModel) else given
    )
    kind = part.get("type")
    if kind == "image_url":
        return _image_block(part["image_url"])
    return _text_block("[audio]") if kind == "input_audio" else part


def _image_block(source: Any) -> Block:
    url = source["url"] if isinstance(source, Mapping) else source
    if url.startswith(("http://", "https://")):
        return {"type": "image", "source": {"type": "url", "url": url}}
    head, found, data = url.partition(";base64,")
    if not found or not head.startswith("data:"):
        return _text_block("[image]")
    media_type = head.removeprefix("data:")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": data},
    }


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def to_anthropic_tool(tool: Tool) -> dict[str, Any]:
    """One tool as Anthropic describes it."""
    wire: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }
    if tool.strict is not None:
        wire["strict"] = tool.strict
    return wire


def to_anthropic_body(
    prompt: list[dict[str, Any]],
    model: str,
    sampling_args: Mapping[str, Any],
    tools: list[dict[str, Any]] | None,
) -> tuple[dict[str, Any], CallOptions]:
    """The whole request body; arguments named as OpenAI names them are renamed.

    Raises:
        ValueError: A sampling argument requests what cannot be had.
    """
    sampling, extra_body, options = split_sampling(sampling_args)
    sampling.pop("n", None)
    limit = sampling.pop("max_completion_tokens", None)
    sampling.setdefault("max_tokens", DEFAULT_MAX_TOKENS if limit is None else limit)
    stop = sampling.pop("stop", None)
    if stop is not None:
        sampling.setdefault("stop_sequences", [stop] if isinstance(stop, str) else stop)
    if "tool_choice" in sampling:
        sampling["tool_choice"] = _to_tool_choice(sampling["tool_choice"])
    body = {"model": model, "messages": prompt, "stream": False, **sampling, **extra_body}
    if tools:
        body["tools"] = tools
    return body, options


def _to_tool_choice(choice: Any) -> Any:
    if isinstance(choice, str):
        return {"type": _TOOL_CHOICES.get(choice, choice)}
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        return {"type": "tool", "name": choice["function"].get("name")}
    return choice


def check_anthropic_answer(answer: Any) -> None:
    """Refuses what is no message, of ours or the SDK's.

    Raises:
        ReportedError: It says that the call failed, with a status.
        InvalidModelResponseError: No message at all.
        EmptyModelResponseError: Nothing in it, and no reason why it ended.
    """
    check_sdk_answer(answer)
    if is_known(getattr(answer, "stop_reason", None)):
        return
    content = getattr(answer, "content", None)
    if not isinstance(content, list):
        reported = error_instead(answer, "message")
        raise InvalidModelResponseError(reported or "the answer has no content")
    if not any(_has_content(block) for block in content):
        raise EmptyModelResponseError(
            f"the answer has no text, thinking or tool calls (stop reason: {answer.stop_reason})"
        )


def _has_content(block: Any) -> bool:
    return block.type in ("tool_use", "redacted_thinking") or bool(
        (block.type == "text" and block.text) or (block.type == "thinking" and block.thinking)
    )


def from_anthropic_answer(answer: Any) -> Response:
    """A checked answer, ours or the SDK's, in our types.

    Its thinking is in `thinking_blocks`; where some of it comes behind text or calls, places of
    these are there too.
    """
    blocks: Sequence[Any] = answer.content or ()
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for block in blocks:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "tool_use":
            calls.append(_from_tool_use(block, len(calls) + 1))
        elif block.type == "thinking":
            thoughts.append(block.thinking)
    has_more = len(blocks) > len(texts) + len(calls)
    reason = finish_reason(answer.stop_reason)
    content = "".join(texts) if texts or not calls else None
    return Response(
        id=answer.id or "",
        created=int(time.time()),
        model=answer.model or "",
        usage=from_anthropic_usage(answer.usage),
        message=ResponseMessage(
            content=content,
            reasoning_content="".join(thoughts) or None,
            thinking_blocks=_thinking_blocks(blocks) if has_more else None,
            tool_calls=calls or None,
            finish_reason=reason,
            is_truncated=reason == "length",
        ),
    )


def _thinking_blocks(blocks: Sequence[Any]) -> list[Block] | None:
    thinking = [block.type in _THINKING for block in blocks]
    in_front = thinking == sorted(thinking, reverse=True)
    kept = [
        _kept_block(block)
        for block in blocks
        if block.type in _THINKING or (not in_front and block.type in ("text", "tool_use"))
    ]
    return kept or None


def _kept_block(block: Any) -> Block:
    if block.type == "text":
        return {"type": block.type, "characters": len(block.text)}
    if block.type == "tool_use":
        return {"type": block.type, "id": block.id or ""}
    if block.type == "redacted_thinking":
        return {"type": block.type, "data": block.data}
    signature = getattr(block, "signature", None) or ""
    return {"type": block.type, "thinking": block.thinking, "signature": signature}


def _from_tool_use(block: Any, place: int) -> ToolCall:
    if not block.name:
        raise InvalidModelResponseError(f"tool call {place} of the answer names no tool")
    # A text is what a model's cut off JSON stays, or what some endpoints make of whole JSON.
    arguments = block.input
    if not isinstance(arguments, str):
        arguments = _as_json({} if arguments is None else arguments)
    return ToolCall(id=block.id or "", name=block.name, arguments=arguments or "{}")

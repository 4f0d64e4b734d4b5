"""`verifiers.utils.message_utils`, `response_utils` and `tool_utils`: messages, answers, tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tui_eval.environments.multi_turn import step_tokens
from tui_eval.environments.outputs import message_to_printable as message_to_printable
from tui_eval.environments.outputs import messages_to_printable as messages_to_printable
from tui_eval.environments.outputs import sanitize_tool_calls as sanitize_tool_calls
from tui_eval.messages import (
    ContentPart,
    ImageUrlContentPart,
    InputAudioContentPart,
    Message,
    Messages,
    TextContentPart,
    field_of,
    text_of,
    to_message,
    to_tool_call,
)
from tui_eval.messages import normalize_messages as normalize_messages
from tui_eval.printable import printable
from tui_eval.tools.schema import tool_from_function
from tui_eval.types import AssistantMessage, Response, Tool, TrajectoryStepTokens

if TYPE_CHECKING:
    from rich.text import Text


_PARTS: dict[str, type[BaseModel]] = {
    "text": TextContentPart,
    "image_url": ImageUrlContentPart,
    "input_audio": InputAudioContentPart,
}


def from_raw_content_part(part: dict[str, Any]) -> ContentPart:
    """A part of a message as an object; as it is where its type has no class."""
    kind = _PARTS.get(str(part.get("type")))
    typed: Any = part if kind is None else kind.model_validate(part)
    return typed  # type: ignore[no-any-return]


def from_raw_message(message: dict[str, Any]) -> Message:
    """A message as an object.

    Raises:
        ValueError: The role is missing or unknown, or a field has the wrong type.
    """
    return to_message(message)


def concat_messages(messages_list: Iterable[Messages]) -> Messages:
    """Conversations one after the other."""
    return [message for messages in messages_list for message in messages]


def format_messages(messages: Any) -> Text:
    """A conversation as Rich's text for a terminal, with roles, reasoning and tool calls."""
    from rich.text import Text

    if isinstance(messages, str):
        return Text(printable(messages))
    out = Text()
    for place, message in enumerate(messages):
        role = field_of(message, "role") or ""
        style = "bright_cyan" if role == "assistant" else "bright_magenta"
        out.append(("\n\n" if place else "") + printable(f"{role}: "), style="bold")
        reasoning = field_of(message, "reasoning_content")
        if isinstance(reasoning, str) and reasoning.strip():
            out.append(f"\n[reasoning]\n{printable(reasoning)}\n\n", style="dim")
        content = field_of(message, "content")
        if content:
            text = text_of(content) if isinstance(content, list) else str(content)
            out.append(printable(text), style=style)
        for call in map(to_tool_call, field_of(message, "tool_calls") or ()):
            shown = json.dumps({"name": call.name, "args": call.arguments}, indent=2)
            out.append(f"\n\n[tool call]\n{printable(shown)}", style=style)
    return out


async def parse_response_message(response: Response) -> Messages:
    """The message of an answer, as a conversation of one."""
    fields = AssistantMessage.model_fields
    return [AssistantMessage(**{name: response.message.get(name) for name in fields})]


async def parse_response_tokens(
    response: Response | None, max_seq_len: int | None = None
) -> TrajectoryStepTokens | None:
    """The token ids of an answer, cut to `max_seq_len`; None where it has none."""
    return None if response is None else step_tokens(response.message.tokens, max_seq_len)


VALID_TOOL_CONTENT_PART_TYPES = frozenset(("text", "image_url"))
"""The types of parts that a tool's result may have."""


def convert_func_to_tool_def(func: Callable[..., Any]) -> Tool:
    """The definition of a Python function as a tool.

    Raises:
        TypeError: The function cannot be made a tool.
    """
    return tool_from_function(func)


def is_valid_tool_content_parts(value: object) -> bool:
    """Whether a value is a list of text and image parts, and so may be a message's content."""
    return isinstance(value, list) and all(
        isinstance(part, Mapping) and part.get("type") in VALID_TOOL_CONTENT_PART_TYPES
        for part in value
    )

"""What is wrong with one row of a dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tui_eval.messages import CustomBaseModel

ROLES = ("system", "developer", "user", "assistant", "tool", "text")


def row_faults(row: Any) -> Iterable[tuple[str, str]]:
    """What is wrong with a row, each with what to do."""
    if not isinstance(row, Mapping):
        yield (
            f"it is of type {type(row).__name__}, not an object",
            "A row is an object with a question",
        )
        return
    prompt, question = row.get("prompt"), row.get("question")
    if prompt is None and question is None:
        columns = ", ".join(map(str, row)) or "none"
        yield "it has neither 'prompt' nor 'question'", f"Its columns: {columns}"
    elif prompt is not None:
        yield from _prompt_faults(prompt)
    elif fault := _content_fault(question, "its 'question'"):
        yield fault, "It must be text"
    info = row.get("info")
    if isinstance(info, str) and not is_json(info):
        yield "its 'info' is text that is no JSON", "It must be an object or a list, or JSON text"


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _prompt_faults(prompt: Any) -> Iterable[tuple[str, str]]:
    hint = "It must be text, or a list of messages with role and content"
    if isinstance(prompt, str):
        return
    if not isinstance(prompt, (list, tuple)):
        yield f"its 'prompt' is of type {type(prompt).__name__}", hint
    elif not prompt:
        yield "its 'prompt' has no messages", hint
    else:
        for place, message in enumerate(prompt):
            if isinstance(message, (str, CustomBaseModel)):
                continue
            fault = _message_fault(message, f"message {place} of its 'prompt'")
            if fault:
                yield fault, hint


def _message_fault(message: Any, name: str) -> str | None:
    if not isinstance(message, Mapping) or str(message.get("role")) not in ROLES:
        return f"{name} has no known role"
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        return f"the tool calls of {name} are of type {type(calls).__name__}"
    content = message.get("content")
    if content is None:
        return None if message["role"] == "assistant" else f"{name} has no content"
    return _content_fault(content, f"the content of {name}")


def _content_fault(content: Any, name: str) -> str | None:
    if isinstance(content, str):
        return None
    if not isinstance(content, (list, tuple)):
        return f"{name} is of type {type(content).__name__}"
    for place, part in enumerate(content):
        if not isinstance(part, (str, Mapping, CustomBaseModel)):
            return f"part {place} of {name} is of type {type(part).__name__}"
    return None

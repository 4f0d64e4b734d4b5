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
    elif not isinstance(question, (str, list)):
        yield f"its 'question' is of type {type(question).__name__}", "It must be text"
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
            if not isinstance(message, Mapping) or str(message.get("role")) not in ROLES:
                yield f"message {place} of its 'prompt' has no known role", hint
            elif message.get("content") is None and message["role"] != "assistant":
                yield f"message {place} of its 'prompt' has no content", hint

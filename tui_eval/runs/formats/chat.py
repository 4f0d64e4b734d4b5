"""OpenAI chat JSONL: one conversation a line, without scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.fold.saved_values import listing, mapping


def is_chat(record: Mapping[str, Any]) -> bool:
    """Whether a line holds a conversation and nothing that another format would have."""
    return isinstance(record.get("messages"), list) and "completion" not in record


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A conversation as a row: what is before the first answer is the prompt."""
    messages = listing(record.get("messages"))
    answers = (i for i, one in enumerate(messages) if mapping(one).get("role") == "assistant")
    first = next(answers, len(messages))
    named = {key: record[key] for key in ("example_id", "id", "reward") if key in record}
    return {**named, "prompt": messages[:first], "completion": messages[first:], "metrics": {}}

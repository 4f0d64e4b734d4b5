"""One finished rollout as a line of results.jsonl, in the format that verifiers 0.1.11 writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel

from tui_eval.errors import ErrorChain, traceback_text
from tui_eval.messages import text_of
from tui_eval.state import State

ROW_VERSION = 1

SCHEMA_KEYS = frozenset(
    (
        "example_id",
        "prompt",
        "completion",
        "answer",
        "task",
        "info",
        "reward",
        "error",
        "timing",
        "is_completed",
        "is_truncated",
        "stop_condition",
        "metrics",
        "tool_defs",
        "token_usage",
        "error_chain",
        "long_error_chain",
        "tui_eval",
    )
)

_encode = msgspec.json.Encoder().encode


def message_dict(message: Any) -> dict[str, Any]:
    """A message as result files and events show it.

    Content parts become one string, tool calls a list of JSON texts, empty fields are left out.
    """
    if isinstance(message, Mapping):
        return dict(message)
    role = message.role
    content = message.content
    if content is not None and not isinstance(content, str):
        content = text_of(content)
    if role == "tool":
        found = {"role": role, "tool_call_id": message.tool_call_id, "content": content}
    else:
        found = {"role": role, "content": content}
    if role == "assistant":
        found["content"] = content or ""
        if message.tool_calls:
            found["tool_calls"] = [
                _encode({"id": c.id, "name": c.name, "arguments": c.arguments}).decode()
                for c in message.tool_calls
            ]
        if message.reasoning_content is not None:
            found["reasoning_content"] = message.reasoning_content
        if message.thinking_blocks is not None:
            found["thinking_blocks"] = message.thinking_blocks
    return found


def messages_list(value: Any) -> list[dict[str, Any]]:
    """A conversation as result files show it; a plain string is the user's message."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return [message_dict(message) for message in value or []]


def error_info(error: BaseException) -> dict[str, str]:
    """An exception as result files show it: its name, and its chain in two forms."""
    chain = ErrorChain(error)
    return {
        "error": type(error).__name__,
        "error_chain_repr": repr(chain),
        "error_chain_str": str(chain),
    }


def build_row(
    state: State, *, number: int, attempt: int, columns: Sequence[str] = ()
) -> dict[str, Any]:
    """The row of a finished rollout, keys in the order of the format.

    Args:
        number: The rollout's number among those of its example, from 0.
        attempt: Which attempt this is, from 1.
        columns: Keys of the state to add, as `-C` asks.
    """
    error = state.get("error")
    completion = messages_list(state.get("completion"))
    ours = _own_part(state, number, attempt, error)
    if not completion:
        completion = [{"role": "assistant", "content": ""}]
        ours["empty_completion"] = True
    row: dict[str, Any] = {
        "example_id": state["example_id"],
        "prompt": messages_list(state.get("prompt")),
        "completion": completion,
    }
    if answer := state.get("answer"):
        row["answer"] = answer
    row["task"] = state.get("task") or "default"
    if info := state.get("info"):
        row["info"] = info
    metrics = state.get("metrics") or {}
    row |= {
        "reward": _finite(state.get("reward")),
        "error": None if error is None else error_info(error),
        "timing": dict(state.get("timing") or {}),
        "is_completed": bool(state.get("is_completed")),
        "is_truncated": bool(state.get("is_truncated")),
        "stop_condition": state.get("stop_condition"),
        "metrics": metrics,
        "tool_defs": [tool.model_dump() for tool in state.get("tool_defs") or []],
    }
    if usage := state.get("usage"):
        row["token_usage"] = dict(usage)
    if error is not None:
        row["error_chain"] = row["error"]["error_chain_repr"]
        row["long_error_chain"] = row["error"]["error_chain_str"]
    for name, value in metrics.items():
        if name not in SCHEMA_KEYS:
            row[name] = value
    for column in columns:
        if column not in SCHEMA_KEYS and column not in metrics:
            row[column] = state.get(column)
    row["tui_eval"] = ours
    return row


def _own_part(
    state: State, number: int, attempt: int, error: BaseException | None
) -> dict[str, Any]:
    ours: dict[str, Any] = {
        "version": ROW_VERSION,
        "rollout": number,
        "attempt": attempt,
        "trajectory_id": state.get("trajectory_id"),
        "scores": state.scores,
        "steps": state.steps,
        "tool_calls": state.tool_log,
        "traceback": None if error is None else traceback_text(error),
    }
    media = _media("prompt", state.get("prompt")) + _media("completion", state.get("completion"))
    if media:
        ours["media"] = media
    return ours


def _media(where: str, messages: Any) -> list[dict[str, Any]]:
    if messages is None or isinstance(messages, str):
        return []
    return [
        {"where": where, "message": index, "parts": message["content"]}
        for index, message in enumerate(messages)
        if isinstance(message.get("content"), list)
    ]


def _finite(reward: Any) -> float:
    return float(reward) if isinstance(reward, (int, float)) and math.isfinite(reward) else 0.0


def encode_row(row: dict[str, Any]) -> bytes:
    """One line of JSON with its newline, always: what JSON cannot carry is replaced visibly.

    Where something was replaced, `row["tui_eval"]["replaced"]` lists the places.
    """
    try:
        return msgspec.json.encode(row, enc_hook=_plain) + b"\n"
    except (TypeError, ValueError, RecursionError, OverflowError):
        replaced: list[str] = []
        clean = _cleaned(row, "", replaced, 0)
        clean["tui_eval"]["replaced"] = replaced
        return msgspec.json.encode(clean) + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, (Path, date)):
        return str(value)
    if isinstance(value, BaseException):
        return repr(value)
    if callable(getattr(value, "tolist", None)):  # numpy's numbers and arrays
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")


_DEEPEST = 60


def _cleaned(value: Any, place: str, replaced: list[str], depth: int) -> Any:
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        if -(2**63) <= value < 2**64:
            return value
    elif isinstance(value, str):
        whole = value.encode("utf-8", "backslashreplace").decode()
        if whole != value:
            replaced.append(place)
        return whole
    elif depth < _DEEPEST and isinstance(value, Mapping):
        return {
            str(key): _cleaned(item, f"{place}.{key}".lstrip("."), replaced, depth + 1)
            for key, item in value.items()
        }
    elif depth < _DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
        return [
            _cleaned(item, f"{place}[{i}]", replaced, depth + 1) for i, item in enumerate(value)
        ]
    else:
        try:
            plain = _plain(value)
        except TypeError:
            pass
        else:
            return _cleaned(plain, place, replaced, depth + 1)
    replaced.append(place)
    return f"<{type(value).__name__} is not JSON: {_short_repr(value)}>"


def _short_repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"its repr raised {type(error).__name__}"
    return text[:200].encode("utf-8", "backslashreplace").decode()

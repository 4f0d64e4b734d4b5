"""One finished rollout as a line of results.jsonl, in the format that verifiers 0.1.11 writes.

The format is another library's, so that its readers and ours read each other's files; what it has
no place for is under `tui_eval`. There is always a row: a value that JSON cannot carry is replaced
visibly and named in the row, because a rollout that was paid for must not be lost to one odd value
in its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tui_eval import cuts
from tui_eval.error_classes import class_of
from tui_eval.errors import ErrorChain, traceback_text
from tui_eval.events import Stage
from tui_eval.messages import fields_of, text_of, to_tool_call
from tui_eval.runs.plain_json import Cleaner, plain
from tui_eval.state import State
from tui_eval.stats.rewards import is_number
from tui_eval.token_kinds import named

ROW_VERSION = 1

COLUMN_NAMES = frozenset(("query", "expected_answer"))
"""Columns that can be requested besides keys of the state: the last question, and the answer."""

LONGEST_CHAIN = 10_000
"""Characters of an error's chain at most: the format has it twice, and the traceback all of it."""

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
    if isinstance(message, str):
        return {"role": "user", "content": message}
    fields = fields_of(message)
    if fields is message and isinstance(message, Mapping):
        found = {key: value for key, value in message.items() if value is not None}
    elif message.role == "tool":
        found = {"role": "tool", "tool_call_id": message.tool_call_id}
    else:
        found = {"role": message.role}
    found["content"] = text_of(fields.get("content"))
    if calls := fields.get("tool_calls"):
        listed = calls if isinstance(calls, Iterable) else (calls,)
        found["tool_calls"] = [_call_text(call) for call in listed]
    for name in ("reasoning_content", "thinking_blocks"):
        value = fields.get(name)
        if value is not None:
            found[name] = value
    return found


def _call_text(call: Any) -> str:
    if isinstance(call, str):
        return call
    try:
        call = to_tool_call(call)
        call = {"id": call.id, "name": call.name, "arguments": call.arguments}
        return _encode(call).decode()
    except (TypeError, ValueError):
        return _encode(Cleaner().clean(call)).decode()


def messages_list(value: Any) -> list[dict[str, Any]]:
    """A conversation as result files show it; a plain string is the user's message."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return [message_dict(message) for message in value or []]


def error_info(error: BaseException, failed_at: Stage | None = None) -> dict[str, str]:
    """An exception as result files show it: its name, what failed, and its chain in two forms.

    Args:
        failed_at: The stage at which it was raised, where one is known.
    """
    chain = ErrorChain(error)
    return {
        "error": type(error).__name__,
        "class": class_of(error, failed_at),
        "error_chain_repr": _cut(repr(chain)),
        "error_chain_str": str(chain),
    }


def _cut(text: str) -> str:
    kept = cuts.head(text, LONGEST_CHAIN)
    left_out = len(text) - len(kept)
    return f"{kept}... {left_out:,} more characters" if left_out else text


def build_row(
    state: State, *, number: int, attempt: int, columns: Sequence[str] = ()
) -> dict[str, Any]:
    """The row of a finished rollout, keys in the order of the format.

    Args:
        number: The rollout's number among those of its example, from 0.
        attempt: Number of the attempt, from 1.
        columns: Keys of the state to add, those of `-C`.
    """
    error = state.get("error")
    ours = _own_part(state, number, attempt, error)
    row: dict[str, Any] = {
        "example_id": state["example_id"],
        "prompt": messages_list(state.get("prompt")),
        "completion": messages_list(state.get("completion")),
    }
    if answer := state.get("answer"):
        row["answer"] = answer
    row["task"] = state.get("task") or "default"
    if info := state.get("info"):
        row["info"] = info
    metrics = state.get("metrics") or {}
    row |= {
        "reward": _number(state.get("reward")) if error is None else 0.0,
        "error": None if error is None else error_info(error, state.failed_at),
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
            row[column] = _column(state, row, column)
    row["tui_eval"] = ours
    return row


def _column(state: State, row: Mapping[str, Any], column: str) -> Any:
    """Value of a column: a key of the state, or another part of the row by its usual name."""
    if column in state or column not in COLUMN_NAMES:
        return state.get(column)
    if column == "query":
        requested = [one["content"] for one in row["prompt"] if one["role"] == "user"]
        return requested[-1] if requested else ""
    return state.get("answer")


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
    if state.steps and (finish := state.steps[-1].get("finish_reason")) is not None:
        ours["finish_reason"] = finish
    if state.models:
        ours["models"] = state.models
    if state.token_kinds:
        ours["token_kinds"] = named(state.token_kinds)
    if verdicts := state.get("judge_response"):
        ours["judge"] = list(verdicts.values()) if isinstance(verdicts, dict) else [verdicts]
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
        if not isinstance(message, str) and isinstance(message.get("content"), list)
    ]


def _number(reward: Any) -> float:
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if is_number(number) else 0.0


def encode_row(row: dict[str, Any]) -> bytes:
    """One line of JSON with its newline, always: what JSON cannot carry is replaced visibly.

    Where something was replaced, `row["tui_eval"]["replaced"]` lists the places. NaN and the
    infinities become null.
    """
    try:
        return msgspec.json.encode(row, enc_hook=plain) + b"\n"
    except Exception:  # people's objects may raise anything when they are looked at
        cleaner = Cleaner()
        clean = cleaner.clean(row)
        clean.setdefault("tui_eval", {})["replaced"] = cleaner.replaced
        return msgspec.json.encode(clean) + b"\n"
